"""How the user's functions are called, and how what they return becomes Arrow tables."""
