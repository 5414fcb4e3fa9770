"""Arrow tables on disk and in memory: files, selections of rows, gathering, where each row came from."""
