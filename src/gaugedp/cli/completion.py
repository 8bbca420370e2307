"""`gaugedp completion`: shell completion of commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_GAUGEDP_COMPLETE"  # the name that click expects


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in your shell.

    For bash, add the line `eval "$(gaugedp completion bash)"` to ~/.bashrc. For zsh, add the same line with zsh to
    ~/.zshrc. For fish, run `gaugedp completion fish > ~/.config/fish/completions/gaugedp.fish`.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(context.find_root().command, {}, "gaugedp", _VARIABLE).source())
