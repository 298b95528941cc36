"""The server of pages: it hands out a folder, to this machine alone."""

import http.client
import os

import pytest
from browsing import answering

from naive_graph.cli.serving import make_server


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("pages")
    folder, outside = tmp_path / "served", tmp_path / "outside"
    (folder / "inner").mkdir(parents=True), outside.mkdir()
    (folder / "page.html").write_text("a page")
    (folder / "inner" / "page.html").write_text("another")
    (outside / "secret.txt").write_text("a secret")
    try:
        os.symlink(outside, folder / "link")
        os.symlink(outside / "secret.txt", folder / "file")
    except OSError:
        pytest.skip("this system makes no links")
    serving = make_server(folder)

    def ask(path, host="127.0.0.1", method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", serving.server_port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        if host:
            connection.putheader("Host", f"{host}:{serving.server_port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read()

    with answering(serving):
        yield ask


def test_what_is_in_the_folder_is_handed_out(asked):
    assert asked("/page.html") == (200, b"a page") and asked("/inner/page.html?x=1#y", "localhost") == (200, b"another")
    assert asked("/page.html", method="HEAD") == (200, b"")


@pytest.mark.parametrize(
    "path", ["/link/secret.txt", "/file", "/link/", "/inner/../file", "/%00", "/page.html%00", "/a%00b"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_a_link_leads_to_and_what_is_no_path_is_not_found(asked, path, method, capfd):
    status, said = asked(path, method=method)
    assert status == 404 and b"secret" not in said
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("host", ["evil.example", "", "127.0.0.1.evil.example", "localhost.evil.example"])
def test_a_page_of_elsewhere_is_refused_whatever_its_name_leads_to(asked, host):
    status, said = asked("/page.html", host)
    assert status == 403 and b"a page" not in said
