from gristmill.prepared.records import LoadRecord, read_records, request_key, write_record


def record(commit, when, revision="main", **splits):
    return LoadRecord(commit, revision, "default", ("train", "test"), splits, when)


def test_the_latest_comes_first_and_splits_add_up(tmp_path):
    write_record(tmp_path, "a___b", "key", record("1" * 40, 1.0, train="x"))
    write_record(tmp_path, "a___b", "key", record("2" * 40, 2.0, train="y"))
    write_record(tmp_path, "a___b", "key", record("1" * 40, 3.0, test="z"))
    write_record(tmp_path, "a___b", "other", record("3" * 40, 4.0, train="w"))
    first, second = read_records(tmp_path, "a___b", "key")
    assert (first.commit, first.splits) == ("1" * 40, {"train": "x", "test": "z"})
    assert second.commit == "2" * 40
    assert read_records(tmp_path, "none", "key") == []


def test_nothing_new_writes_nothing(tmp_path):
    write_record(tmp_path, "a", "key", record("1" * 40, 1.0, train="x"))
    write_record(tmp_path, "a", "key", record("1" * 40, 9.0, train="x"))
    assert read_records(tmp_path, "a", "key")[0].when == 1.0


def test_damaged_records_are_passed_over(tmp_path):
    write_record(tmp_path, "a", "key", record("1" * 40, 1.0, train="x"))
    (tmp_path / "a/loads" / f"key-{'2' * 40}.json").write_text("{")
    (tmp_path / "a/loads" / f"key-{'3' * 40}.json").write_text("[]")
    assert [r.commit for r in read_records(tmp_path, "a", "key")] == ["1" * 40]


def test_a_request_is_told_from_another():
    assert request_key(name="a", options={"sep": ","}) == request_key(options={"sep": ","}, name="a")
    assert request_key(name="a") != request_key(name="b")
