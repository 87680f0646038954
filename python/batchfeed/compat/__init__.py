# SPDX-License-Identifier: MIT
"""Other libraries' names for what batchfeed does."""
