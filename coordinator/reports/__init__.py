"""The study's tables and charts for any campaign, and the report that contains all of them."""
