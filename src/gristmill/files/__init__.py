"""Where bytes live: paths, URLs, data-file patterns; atomic writes, locks, retries; errors translated at the border."""
