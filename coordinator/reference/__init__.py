"""Published figures that any campaign can be set beside: as printed, with what is wrong in them."""
