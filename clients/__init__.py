"""Libraries that use Tanager, each tried in an environment of its own: `make clients`."""
