"""`gristmill hub serve`: a folder of repositories as a Hub."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gristmill.cli.app import Settings, hub_group, size_of_option


@hub_group.command("serve")
@click.argument(
    "folder", metavar="[DIR]", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--demo", is_flag=True, help="Serve the small Hub that ships with Gristmill, in place of DIR.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for a free one.",
)
@click.option(
    "--redirect-large",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Answer requests for files of at least this size with a redirect, as the public Hub does.",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="How clients reach the server, if it stands behind a proxy that does not tell.",
)
@click.option(
    "--allow-write",
    is_flag=True,
    help="Let anyone write who reaches the server, which then must be on 127.0.0.1, unless there are tokens.",
)
@click.option(
    "--tokens",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Tokens and what they may read and write; DIR/tokens.json if left out.",
)
@click.option(
    "--rate-limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Requests that one client may send in a minute; no limit if left out.",
)
@click.option(
    "--log", metavar="FILE", help="Add a line of JSON for each request to FILE; - for standard error."
)
@click.option(
    "--follow-links",
    is_flag=True,
    help="Serve what symbolic links in repositories lead to also if it is outside DIR.",
)
@click.option(
    "--mirror", is_flag=True, help="Fetch what is not in DIR from another Hub, keep it there, and serve it."
)
@click.option("--upstream", metavar="URL", help="The Hub that --mirror fetches from.  [default: HF_ENDPOINT]")
@click.option(
    "--upstream-token",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with a token for that Hub; HF_TOKEN is taken only if that is HF_ENDPOINT.",
)
@click.option(
    "--mirror-ttl",
    type=click.FloatRange(min=0),
    default=60,
    metavar="SECONDS",
    help="How long a branch is taken to be what that Hub said last.  [default: 60]",
)
@click.option(
    "--mirror-max",
    metavar="SIZE",
    callback=size_of_option,
    help="Most of the disk that --mirror takes, such as 500GB: what was not used for the longest time goes.",
)
@click.option(
    "--convert-max",
    metavar="SIZE",
    callback=size_of_option,
    default="1GB",
    show_default=True,
    help="Make Parquet files, when they are asked for, of CSV, JSON and the like up to this size; 0 for never.",
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Certificate (PEM): speak HTTPS.",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Key of the certificate, if it is not in the same file.",
)
@click.pass_obj
def hub_serve(
    settings: Settings,
    folder: Path | None,
    demo: bool,
    host: str,
    port: int,
    redirect_large: int | None,
    public_url: str | None,
    allow_write: bool,
    tokens: Path | None,
    rate_limit: int | None,
    log: str | None,
    follow_links: bool,
    mirror: bool,
    upstream: str | None,
    upstream_token: Path | None,
    mirror_ttl: float,
    mirror_max: int | None,
    convert_max: int,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> None:
    """Serve the repositories in DIR until Ctrl-C.

    DIR holds datasets/ORG/NAME/… (and models/ORG/NAME/…), each a plain folder of files. huggingface_hub, datasets,
    fsspec, polars and duckdb work against it once HF_ENDPOINT is set as printed. Files that change on disk are seen as a
    new commit. Repositories can be made and pushed to with --allow-write, or by tokens that may write; one that was
    pushed to keeps its history in its folder and is changed by pushing only.

    Example: gristmill hub serve ./mirror --port 8000
    """
    from gristmill import config
    from gristmill.demo import DEMO_HUB
    from gristmill.hub.server import serve

    if demo == (folder is not None):
        raise click.UsageError("Name the folder to serve, or --demo for the Hub that ships with Gristmill.")
    if demo and allow_write:
        raise click.UsageError("The Hub of --demo is not for writing; name a folder of your own.")
    if not mirror and (upstream is not None or upstream_token is not None or mirror_max is not None):
        raise click.UsageError(
            "--upstream, --upstream-token and --mirror-max say what --mirror does; add that."
        )
    if mirror_max == 0:
        raise click.BadParameter(
            "a mirror without room keeps nothing: write 500GB", param_hint="'--mirror-max'"
        )
    if demo and mirror:
        raise click.UsageError(
            "The Hub of --demo is not for writing; name a folder that is to be the mirror."
        )
    served = (folder or DEMO_HUB).resolve()

    def announce(endpoint: str) -> None:
        address = public_url.rstrip("/") if public_url else endpoint
        settings.output.result(
            {"endpoint": address, "folder": str(served)}
            if settings.output.as_json
            else f"Serving {served} at {address} (Ctrl-C stops)\nexport HF_ENDPOINT={address}"
        )
        # A script that reads the address from a pipe must not wait until the server ends.
        sys.stdout.flush()
        if mirror:
            settings.output.say(f"What is missing is fetched from {upstream or config.HF_ENDPOINT}.")
        elif not any(served.glob("*/*/*/")):
            settings.output.say(
                f"There is no repository in {served}. They are looked for at datasets/ORG/NAME and models/ORG/NAME."
            )

    serve(
        served,
        host,
        port,
        redirect_large=redirect_large,
        public_url=public_url,
        allow_write=allow_write,
        tokens=tokens,
        rate_limit=rate_limit,
        log=log,
        follow_links=follow_links,
        mirror=upstream or mirror,
        mirror_token=upstream_token.read_text("utf-8", "replace").strip() if upstream_token else None,
        mirror_ttl=mirror_ttl,
        mirror_max=mirror_max,
        # The Hub that ships with Gristmill is not for writing to.
        convert_max=0 if demo else convert_max,
        tls_cert=tls_cert,
        tls_key=tls_key,
        ready=announce,
    )
    settings.output.say("The server has stopped.")
