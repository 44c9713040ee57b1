"""The abstract domains: each knows one aspect of a path, and all have the interface of `domain.Domain`."""
