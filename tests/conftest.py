"""Settings for the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples every time: a run must not depend on chance or on the machine's speed.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("steady")
