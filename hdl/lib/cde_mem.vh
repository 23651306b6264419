// SPDX-License-Identifier: Apache-2.0
// Maintenance bus of the memories, passed from memory to memory (cde_mem_node): clearing walk, error injection,
// reports. Sizes of code words.
`ifndef CDE_MEM_VH
`define CDE_MEM_VH
`define CDE_MEM_W 42
`define CDE_MEM_START 0         // to all: reset
`define CDE_MEM_CLEAR 1         // to all: the clearing walk runs
`define CDE_MEM_BIT 2           // to all, 10 bits: bit to invert
`define CDE_MEM_BIT2 12         // to all, 10 bits: another one, or the same for one bit only
`define CDE_MEM_INJECT 22       // from memory to memory: an injection comes by
`define CDE_MEM_TARGET 23       // 8 bits: memories before the one that is meant
`define CDE_MEM_BAD 31          // from memory to memory: report of a bad word
`define CDE_MEM_LOST 32         // it could not be corrected
`define CDE_MEM_HOPS 33         // 8 bits: memories passed since
`define CDE_MEM_CANCEL 41       // to all: what was to be inverted is not; another injection follows in the next cycle
// No memory has this number, it is the counters (cde_counters): their injections pass the bus, too, and so replace what
// waits in a memory.
`define CDE_MEM_COUNTERS 8'd255
// Data bits of a full lane and its check bits; check bits of a lane of D data bits (cde_ecc.vh), and of a word of W
// data bits. A full lane is as wide as a block RAM, 36 bits, and a check bit is the parity of 15 bits at most: two
// levels of logic.
`define CDE_ECC_D 29
`define CDE_ECC_R 7
`define CDE_ECC_LANE(D) ((D) <= 1 ? 3 : (D) <= 4 ? 4 : (D) <= 10 ? 5 : (D) <= 20 ? 6 : `CDE_ECC_R)
`define CDE_ECC_WORD(W) ((W) / `CDE_ECC_D * `CDE_ECC_R + ((W) % `CDE_ECC_D == 0 ? 0 : `CDE_ECC_LANE((W) % `CDE_ECC_D)))
`define CDE_ECC_SYNDROMES(W) (((W) + `CDE_ECC_D - 1) / `CDE_ECC_D * `CDE_ECC_R)
`endif
