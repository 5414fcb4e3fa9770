"""What is known about a dataset besides its rows, for one config and for all of them."""

from gristmill.info.configs import DatasetInfosDict, MetadataConfigs
from gristmill.info.facts import DatasetInfo, InfoMixin, all_equal, wanted_features

__all__ = ["DatasetInfo", "DatasetInfosDict", "InfoMixin", "MetadataConfigs", "all_equal", "wanted_features"]
