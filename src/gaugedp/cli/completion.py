"""`gaugedp completion`: shell completion of commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_GAUGEDP_COMPLETE"  # the name that click expects


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes the shell complete gaugedp's commands and options.

    For bash, add `eval "$(gaugedp completion bash)"` to ~/.bashrc; for zsh the same with zsh to ~/.zshrc; for fish,
    `gaugedp completion fish > ~/.config/fish/completions/gaugedp.fish`.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(context.find_root().command, {}, "gaugedp", _VARIABLE).source())
