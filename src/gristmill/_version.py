"""The version of Gristmill, read by the build and by the package."""

# Major and minor are those of the `datasets` API that is spoken: libraries compare `datasets.__version__` and take
# old paths for a small number, in silence. The last number counts Gristmill's own releases.
__version__ = "5.2.0"
