// SPDX-License-Identifier: Apache-2.0
// Filter boxes, and rows that open when a link leads to them. Pages can be read without it.
"use strict";

for (const box of document.querySelectorAll(".filter")) {
  const rows = [...document.querySelectorAll(".row[data-text]")];
  const [search, only] = box.querySelectorAll("input");
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const fits = words.every((word) => row.dataset.text.includes(word));
      row.hidden = !fits || Boolean(only && only.checked && row.classList.contains("ok"));
      shown += !row.hidden;
    }
    for (const section of document.querySelectorAll("section.rows")) {
      section.hidden = !section.querySelector(".row:not([hidden])");
    }
    box.querySelector("output").textContent = `${shown} of ${rows.length}`;
  };
  box.hidden = false;
  box.addEventListener("input", apply);
  apply();
}

const open = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
window.addEventListener("hashchange", open);
open();

// The list of pages is wider than a phone.
document.querySelector("nav .here")?.scrollIntoView({ inline: "center", block: "nearest" });
