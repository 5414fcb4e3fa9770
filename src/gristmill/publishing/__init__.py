"""Publishing on a Hub: rows become Parquet files, the files one commit, and the card says what is there now.

`source` is what rows come from (datasets and streams have one each), `push` sends their files and commits them, `card`
says what the README holds afterwards, `replaced` which older files go, `deleting` takes a config away again.
"""

from gristmill.publishing.push import PushOptions, push_splits
from gristmill.publishing.source import ShardSource, WrittenShard, write_shard

__all__ = ["PushOptions", "ShardSource", "WrittenShard", "push_splits", "write_shard"]
