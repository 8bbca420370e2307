"""Laws of the privacy loss log P/Q under P, as transforms at real and complex orders."""
