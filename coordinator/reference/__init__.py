"""Published figures that any campaign can be set beside: as printed, with the errors in them."""
