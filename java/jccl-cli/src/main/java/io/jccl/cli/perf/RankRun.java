package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.Execution;
import io.jccl.PeerTransport;
import io.jccl.TransportKind;
import io.jccl.Work;
import io.jccl.config.Settings;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** One rank's part in a run: measures and checks all sizes in step with the other ranks. */
final class RankRun {

    private final PerfOptions options;
    private final Communicator communicator;
    private final Reporter reporter;
    private final Exchange exchange;
    private final Stopwatch stopwatch;
    private final Checker checker;

    /**
     * @param reporter receives each row; silent on ranks other than 0
     */
    RankRun(PerfOptions options, Communicator communicator, Reporter reporter) {
        this.options = options;
        this.communicator = communicator;
        this.reporter = reporter;
        this.exchange = new Exchange(communicator);
        this.stopwatch = new Stopwatch(exchange, options);
        this.checker = new Checker(options, communicator.size(), exchange, reporter::complain);
    }

    /** Runs all sizes; returns the number of wrong elements on all ranks together. */
    long run() {
        int elementBytes = options.type().bytes();
        List<Shape> shapes = options.ladder().sizes().stream()
                .map(bytes -> Shape.of(options.collective(), communicator.size(), bytes, elementBytes))
                .distinct()
                .toList();
        long largest = Math.max(1, shapes.get(shapes.size() - 1).elements()) * elementBytes;
        long wrong = 0;
        Optional<Integer> device = options.deviceOf(communicator.rank());
        try (Region send = Region.allocate(communicator, options.memory(), largest, device);
                Region recv = Region.allocate(communicator, options.memory(), largest, device);
                Runs runs = Runs.of(options, communicator, exchange)) {
            String transport = transports();
            begin(transport, shapes.size());
            for (Shape shape : shapes) {
                reporter.measuring(shape.elements() * elementBytes);
                PerfRow row = measure(runs, shape, send, recv, transport);
                wrong += row.wrong();
                reporter.row(row);
            }
        }
        reporter.end(wrong);
        return wrong;
    }

    private void begin(String transport, int sizes) {
        Settings settings = Settings.load(options.communicatorConfig(communicator.rank()));
        Placement placement = Placement.gather(exchange, settings);
        if (communicator.rank() == 0) {
            reporter.begin(options, RunInfo.now(options, transport, placement, settings), sizes);
        }
    }

    private PerfRow measure(Runs runs, Shape shape, Region send, Region recv, String transport) {
        PerfCollective collective = shape.collective();
        Workload twoBuffers = new Workload(communicator, shape, options, send, recv, false);
        PerfRow.Side outOfPlace = measure(runs::own, shape, twoBuffers);
        Execution execution = execution(twoBuffers);
        Optional<PerfRow.Side> ofPeer = options.peer().map(any -> measure(runs::peer, shape, twoBuffers));
        PerfRow.Side absent = PerfRow.Side.absent(options.check());
        PerfRow.Side inPlace = absent;
        PerfRow.Side inPlaceOfPeer = absent;
        if (Shape.hasInPlace(collective.kind())) {
            Workload oneBuffer = new Workload(communicator, shape, options, send, recv, true);
            inPlace = measure(runs::own, shape, oneBuffer);
            inPlaceOfPeer = ofPeer.isPresent() ? measure(runs::peer, shape, oneBuffer) : absent;
        }
        PerfRow.Side inPlaceOfOther = inPlaceOfPeer;
        return new PerfRow(
                collective.label(),
                options.backend(),
                transport,
                communicator.size(),
                shape.elements() * options.type().bytes(),
                shape.count(),
                options.type().label(),
                collective.reduces() ? options.op().label() : "none",
                collective.hasRoot() ? options.root() : -1,
                execution,
                outOfPlace,
                inPlace,
                ofPeer.map(side -> new PerfRow.PeerTimes(runs.versionOfPeer(), side, inPlaceOfOther)));
    }

    private PerfRow.Side measure(Runs.Maker maker, Shape shape, Workload workload) {
        Long wrong = null;
        if (options.check()) {
            try (Repetition once = maker.make(workload, 1)) {
                wrong = checker.countWrong(workload, once);
            }
        }
        workload.zero();
        Stopwatch.Times times;
        try (Repetition repetition = maker.make(workload, options.mode() == Mode.AWAIT ? 1 : StreamRepetition.BATCH)) {
            times = stopwatch.measure(repetition);
        }
        long bytes = shape.elements() * options.type().bytes();
        return PerfRow.Side.of(times, bytes, Shape.busFactor(shape.collective().kind(), communicator.size()), wrong);
    }

    /** Returns how the library executes this workload, read from one more call. */
    private static Execution execution(Workload workload) {
        Work work = workload.call().issue();
        work.await();
        return work.execution();
    }

    /** Returns the transports between all pairs of ranks; for example {@code shm} or {@code shm+socket}. */
    private String transports() {
        long mask = 0;
        for (PeerTransport peer : communicator.transports()) {
            if (peer.peer() != communicator.rank()) {
                mask |= 1L << peer.kind().ordinal();
            }
        }
        TreeSet<TransportKind> kinds = new TreeSet<>();
        for (long theirs : exchange.all(mask)) {
            for (TransportKind kind : TransportKind.values()) {
                if ((theirs >> kind.ordinal() & 1) != 0) {
                    kinds.add(kind);
                }
            }
        }
        return kinds.isEmpty()
                ? "none"
                : kinds.stream().map(TransportKind::label).collect(Collectors.joining("+"));
    }
}
