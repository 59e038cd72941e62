"""What authors of cases and of accelerators write with: cases, checks, devices and the helpers for them."""
