"""Everything that knows the Hub: client, dataset card, server."""
