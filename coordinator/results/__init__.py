"""The results of a campaign: cells, ratios, summaries, the query language, comparison, history and export."""
