"""An address that is taken for a path may hold a password: no message repeats it, and no file gets its name."""

from pathlib import Path

import pytest

from gaugedp._internal.postgres import Address, is_no_path
from gaugedp.domain.domain import Domain
from gaugedp.errors import GaugedpError
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.tables.table import Table

PASSWORD = "s3cr3t-4711"
ADDRESSES = [
    f" postgresql://u:{PASSWORD}@h/db?table=p",
    f"postgresql:/u:{PASSWORD}@h/db",
    f"postgresql+psycopg://u:{PASSWORD}@h/db",
    f"mysql://u:{PASSWORD}@h/db.parquet",
    f"host=h password={PASSWORD} dbname=db",
    f"dbname=db\tpassword = '{PASSWORD}'",
    Path(f"postgresql://u:{PASSWORD}@h/db.parquet"),  # which makes one of the two slashes
    Path(f"s3://key:{PASSWORD}@bucket/people.csv"),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_not_repeated(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for work in (lambda: Table.scan(address, domain=Domain.of(sex=["1"])), lambda: Ledger.open(address, PureDP(1))):
        with pytest.raises(GaugedpError) as caught:
            work()
        assert PASSWORD not in str(caught.value)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [
    "people.csv", "/data/people.parquet", "C:/data/people.csv", "C:\\people.csv", "sex=1/people.parquet", "a:b.csv",
    "year = 2020.csv", "localhost=1.csv", "./host.parquet", "password.tsv",
])  # fmt: skip
def test_a_path_is_a_path(path):
    assert not is_no_path(path)


def test_no_secret_of_an_address_is_kept_elsewhere():
    words = ["password", "sslpassword", "passfile", "sslkey"]
    url = f"postgresql://u:{PASSWORD}@h/db?sslpassword={PASSWORD}&passfile=/p&sslkey=/k"
    address, _ = Address.parse(url, "ledger")
    assert PASSWORD not in repr(address)
    kept = address.without_password()._parameters
    assert [word in kept for word in words] == [False, False, True, True]
    assert PASSWORD not in str(kept)
    made = Address("", {"oauth_client_secret": PASSWORD, "scram_client_key": PASSWORD, "user": "u"})
    assert made.without_password()._parameters == {"user": "u"}
