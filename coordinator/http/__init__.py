"""Parts that the routes of REST and the pages share."""
