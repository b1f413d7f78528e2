package io.jccl.cli.perf;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Formats rows as comma-separated values by RFC 4180: a header, then a line for each row. Missing values are empty. */
final class CsvFormat {

    private static final String END = "\r\n"; // RFC 4180
    private static final MathContext DIGITS = new MathContext(6);

    private static final List<String> SIDE =
            List.of("time_us", "p50_us", "p99_us", "algbw_gbps", "busbw_gbps", "wrong");

    private static final List<String> PEER =
            List.of("version", "out_of_place_p50_us", "out_of_place_ratio", "in_place_p50_us", "in_place_ratio");

    private CsvFormat() {}

    /** Returns the line with the names of the columns. */
    static String header() {
        List<String> names = new ArrayList<>(List.of(
                "collective",
                "backend",
                "transport",
                "ranks",
                "bytes",
                "count",
                "type",
                "op",
                "root",
                "algorithm",
                "protocol",
                "channels"));
        SIDE.forEach(name -> names.add("out_of_place_" + name));
        SIDE.forEach(name -> names.add("in_place_" + name));
        names.addAll(List.of("version", "host", "date", "mode"));
        PEER.forEach(name -> names.add("peer_" + name));
        return line(names);
    }

    /** Returns the line of one row of a run. */
    static String row(PerfRow row, RunInfo run) {
        List<String> values = new ArrayList<>(List.of(
                row.collective(),
                row.backend(),
                row.transport(),
                Integer.toString(row.ranks()),
                Long.toString(row.bytes()),
                Long.toString(row.count()),
                row.type(),
                row.op(),
                Integer.toString(row.root()),
                row.execution().algorithm().label(),
                row.execution().protocol().label(),
                Integer.toString(row.execution().channels())));
        addSide(values, row.outOfPlace());
        addSide(values, row.inPlace());
        values.addAll(List.of(run.version(), run.host().name(), run.date().toString()));
        values.add(run.mode().label());
        row.peer()
                .ifPresentOrElse(
                        other -> values.addAll(List.of(
                                other.version(),
                                number(other.outOfPlace().p50Us()),
                                number(row.outOfPlace().ratioTo(other.outOfPlace())),
                                number(other.inPlace().p50Us()),
                                number(row.inPlace().ratioTo(other.inPlace())))),
                        () -> PEER.forEach(name -> values.add("")));
        return line(values);
    }

    private static void addSide(List<String> values, PerfRow.Side side) {
        values.add(number(side.timeUs()));
        values.add(number(side.p50Us()));
        values.add(number(side.p99Us()));
        values.add(number(side.algbwGBps()));
        values.add(number(side.busbwGBps()));
        values.add(side.wrong() == null ? "" : side.wrong().toString());
    }

    private static String number(Double value) {
        return value == null || !Double.isFinite(value)
                ? ""
                : BigDecimal.valueOf(value).round(DIGITS).toPlainString();
    }

    private static String line(List<String> values) {
        return values.stream().map(CsvFormat::quoted).collect(Collectors.joining(",", "", END));
    }

    /** Returns a value in quotation marks if it contains a comma, a quotation mark or a line end; else unchanged. */
    static String quoted(String value) {
        return value.matches("(?s).*[,\"\r\n].*") ? '"' + value.replace("\"", "\"\"") + '"' : value;
    }
}
