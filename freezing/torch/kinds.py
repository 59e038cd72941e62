"""The kinds of variants that only torch has, by which their cases are tagged. Read without torch."""

OFFSET = "offset"
OVERLAPPING = "overlapping"
SECOND_ORDER = "second-order"
