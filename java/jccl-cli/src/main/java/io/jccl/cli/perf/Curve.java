package io.jccl.cli.perf;

import io.jccl.Collective;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The curve of one run in a plot, with its out-of-place times.
 *
 * @param label name of the run
 * @param points by ascending size
 */
record Curve(String label, List<Point> points) {

    /**
     * A point of a curve.
     *
     * @param bytes the size
     * @param busbwGBps bus bandwidth
     * @param timeUs mean time in µs
     */
    record Point(long bytes, double busbwGBps, double timeUs) {

        /**
         * Returns the point for a time, or nothing if there is no time. Computes the bandwidth from the time: the
         * bandwidths in files are rounded, and have few digits left for small sizes.
         */
        private static Stream<Point> of(long bytes, Double timeUs, double busFactor) {
            return timeUs == null
                    ? Stream.empty()
                    : Stream.of(new Point(bytes, bytes / (timeUs * 1e3) * busFactor, timeUs));
        }
    }

    /** The properties that all rows of one curve share. */
    private record Setup(
            String backend, String transport, int ranks, String type, String op, String mode, String date) {

        static Setup of(EarlierRun.Row row) {
            return new Setup(
                    row.backend(),
                    row.transport(),
                    row.ranks(),
                    row.type(),
                    row.op(),
                    row.mode(),
                    row.date().orElse(""));
        }

        /** Returns the file, the date, and the properties in which the earlier run differs from the new one. */
        String label(String file, PerfRow now, Mode nowMode) {
            List<String> parts = new ArrayList<>(List.of(file, date));
            if (ranks != now.ranks()) {
                parts.add(ranks + " ranks");
            }
            parts.add(backend.equals(now.backend()) ? "" : backend);
            parts.add(transport.equals(now.transport()) ? "" : transport);
            parts.add(type.equals(now.type()) ? "" : type);
            parts.add(op.equals(now.op()) ? "" : op);
            parts.add(mode.equals(nowMode.label()) ? "" : mode);
            return parts.stream().filter(part -> !part.isEmpty()).collect(Collectors.joining(", "));
        }
    }

    Curve {
        points = points.stream().sorted(Comparator.comparingLong(Point::bytes)).toList();
    }

    /**
     * Returns the curve of the new run, followed by those of earlier runs of the same collective.
     *
     * @param rows rows of the new run, at least one
     */
    static List<Curve> of(RunInfo run, List<PerfRow> rows, List<EarlierRun> earlier) {
        PerfRow now = rows.get(0);
        Collective kind = PerfCollective.parse(now.collective()).kind();
        double busFactor = Shape.busFactor(kind, now.ranks());
        List<Curve> curves = new ArrayList<>();
        curves.add(new Curve(
                "this run, " + run.date(),
                rows.stream()
                        .flatMap(row -> Point.of(row.bytes(), row.outOfPlace().timeUs(), busFactor))
                        .toList()));
        List<String> names = earlier.stream().map(Curve::name).toList();
        for (EarlierRun one : earlier) {
            boolean unique = Collections.frequency(names, name(one)) == 1;
            curves.addAll(of(one, unique ? name(one) : one.file().toString(), now, run.mode(), kind));
        }
        return curves;
    }

    private static String name(EarlierRun run) {
        return String.valueOf(run.file().getFileName());
    }

    private static List<Curve> of(EarlierRun earlier, String name, PerfRow now, Mode mode, Collective kind) {
        Map<Setup, List<Point>> setups = new LinkedHashMap<>();
        for (EarlierRun.Row row : earlier.rows()) {
            if (row.collective().equals(now.collective())) {
                List<Point> points = setups.computeIfAbsent(Setup.of(row), any -> new ArrayList<>());
                Point.of(row.bytes(), row.outOfPlace().timeUs(), Shape.busFactor(kind, row.ranks()))
                        .forEach(points::add);
            }
        }
        return setups.entrySet().stream()
                .map(setup -> new Curve(setup.getKey().label(name, now, mode), setup.getValue()))
                .toList();
    }
}
