"""The list of commands: importing this module adds each to the app. One line a command."""

from __future__ import annotations

import gristmill.cli.cache_ls
import gristmill.cli.cache_rm
import gristmill.cli.cache_verify
import gristmill.cli.demo
import gristmill.cli.docsinfo
import gristmill.cli.download
import gristmill.cli.extract
import gristmill.cli.fetch_decisions
import gristmill.cli.hub_download
import gristmill.cli.hub_gc
import gristmill.cli.hub_mirror
import gristmill.cli.hub_push
import gristmill.cli.hub_serve
import gristmill.cli.hub_upload
import gristmill.cli.pqcat
import gristmill.cli.pqinfo
import gristmill.cli.run
import gristmill.cli.show
import gristmill.cli.stats
