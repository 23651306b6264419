# SPDX-License-Identifier: Apache-2.0
"""One file of agents per side of the engine, each agent a thin class over the harness's queues."""
