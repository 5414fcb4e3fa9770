"""What all tests share."""

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether a law holds.
settings.register_profile("gristmill", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gristmill")
