"""meson-python, which builds a wheel for the stable ABI from Python 3.12 on, and one for its own version below:
nanobind has no stable ABI there."""

import sys

import mesonpy

_BELOW_STABLE_ABI = sys.version_info < (3, 12)

get_requires_for_build_sdist = mesonpy.get_requires_for_build_sdist
get_requires_for_build_wheel = mesonpy.get_requires_for_build_wheel
build_sdist = mesonpy.build_sdist


def _settings(given):
    settings = dict(given or {})
    if _BELOW_STABLE_ABI:
        arguments = settings.get("setup-args", [])
        arguments = [arguments] if isinstance(arguments, str) else list(arguments)
        settings["setup-args"] = [*arguments, "-Dpython.allow_limited_api=false"]
    return settings


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return mesonpy.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return mesonpy.build_editable(wheel_directory, _settings(config_settings), metadata_directory)
