package io.jccl.chaos;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.integration.Arena;
import io.jccl.integration.CollectiveCase;
import io.jccl.testing.WorkerProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A process that is one rank in each of many rounds. Executes the commands on standard input, one a line, and writes
 * lines that begin with {@link WorkerProcess#REPORT} to standard output:
 *
 * <pre>
 *   id                      prints a unique id, whose rendezvous server runs in this process
 *   round SEED RANK ID      starts a round; prints its events and then "end RESULT"
 *   join SEED RANK ID WHERE the same for the process that joins; WHERE: addresses of ranks, separated by commas
 *   fill, free              fills the file system of shared memory and temporary files; frees it
 *   release                 ends a rank that has continued after a failure
 *   holds                   waits some seconds for resources to be released, and prints those that this process
 *                           holds in addition to those before its first round
 * </pre>
 */
final class Worker {

    static final int MAX_RANKS = 6;

    /** Mount point of the process's own file system, which {@code fill} fills. */
    static final String SMALL = "/dev/shm";

    private static final Path FILLER = Path.of(SMALL, "chaos-filler");
    private static final int MAX_CASE_COUNT = 20_001;
    private static final long HOLDS_MILLIS = 8000;
    private static final int POLL_MILLIS = 20;

    private final List<TransportKind> transports;
    private final int slowness;
    private final Arena arena = new Arena(2 * (MAX_RANKS * MAX_CASE_COUNT * Long.BYTES + 4096));
    private final PrintStream out = System.out;
    private Holdings before;
    private CountDownLatch released = new CountDownLatch(0);

    private Worker(List<TransportKind> transports, int slowness) {
        this.transports = transports;
        this.slowness = slowness;
    }

    /**
     * Arguments: the transports to choose from, separated by commas, and the factor by which this host is slower than
     * usual.
     */
    public static void main(String[] arguments) throws Exception {
        new Worker(
                        Stream.of(arguments[0].split(","))
                                .map(TransportKind::parse)
                                .toList(),
                        Integer.parseInt(arguments[1]))
                .serve();
    }

    private void serve() throws Exception {
        warmUp();
        before = Holdings.now();
        report("ready");
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                execute(line.split(" "));
            }
        }
        System.exit(0);
    }

    private void execute(String[] words) throws Exception {
        switch (words[0]) {
            case "id" -> report("id "
                    + UniqueId.create(CommunicatorConfig.builder()
                                    .initTimeout(Round.INIT_TIMEOUT.multipliedBy(slowness))
                                    .build())
                            .toText());
            case "round", "join" -> {
                released = new CountDownLatch(1);
                RankRound rank = new RankRound(
                        Round.of(Long.parseLong(words[1]), transports, slowness),
                        Integer.parseInt(words[2]),
                        slowness,
                        arena,
                        released,
                        this::report);
                UniqueId id = UniqueId.parse(words[3]);
                start(
                        words[0].equals("round")
                                ? () -> rank.run(id)
                                : () -> rank.join(id, List.of(words[4].split(","))));
            }
            case "fill" -> {
                fill();
                report("filled");
            }
            case "free" -> {
                Files.deleteIfExists(FILLER);
                report("freed");
            }
            case "release" -> released.countDown();
            case "holds" -> report("holds " + heldBeyond());
            default -> throw new IllegalArgumentException("command=" + words[0] + ": unknown");
        }
    }

    private void start(Callable<RankRound.End> part) {
        Thread thread = new Thread(() -> run(part), "chaos-rank");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Callable<RankRound.End> part) {
        String end;
        try {
            end = part.call().name();
        } catch (Throwable e) { // the judge has to see every exception and error
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            end = "BUG " + trace.toString().replace('\n', '|');
        }
        report("end " + end);
    }

    /** Writes until there is no space: first large blocks, then smaller ones, then single bytes. */
    private static void fill() throws IOException {
        for (int block : new int[] {1 << 20, 4096, 1}) {
            byte[] bytes = new byte[block];
            try (OutputStream to =
                    Files.newOutputStream(FILLER, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
                while (true) {
                    to.write(bytes);
                }
            } catch (IOException e) {
                continue; // no space is left, or the process's file size limit is reached
            }
        }
    }

    private Map<String, Integer> heldBeyond() throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(HOLDS_MILLIS * slowness);
        Map<String, Integer> more = Holdings.now().beyond(before);
        while (!more.isEmpty() && System.nanoTime() - end < 0) {
            new CountDownLatch(1).await(POLL_MILLIS, TimeUnit.MILLISECONDS);
            more = Holdings.now().beyond(before);
        }
        return more;
    }

    /**
     * Creates everything that lives as long as the process, and loads the code of a round, before resources are
     * counted.
     */
    private void warmUp() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try (Arena other = new Arena(2 * (MAX_RANKS * MAX_CASE_COUNT * Long.BYTES + 4096))) {
            for (TransportKind transport : transports) {
                UniqueId id = UniqueId.create();
                List<Future<?>> ranks = new ArrayList<>();
                for (int rank = 0; rank < 2; rank++) {
                    int mine = rank;
                    ranks.add(threads.submit(() -> warmUp(id, mine, transport, mine == 0 ? arena : other)));
                }
                for (Future<?> rank : ranks) {
                    rank.get(60L * slowness, TimeUnit.SECONDS);
                }
            }
        } finally {
            threads.shutdown();
            threads.awaitTermination(1, TimeUnit.MINUTES);
        }
        HostBuffer.allocate(1).close();
    }

    private static void warmUp(UniqueId id, int rank, TransportKind transport, Arena arena) {
        CommunicatorConfig config =
                CommunicatorConfig.builder().transport(transport).build();
        try (Communicator comm = Communicator.init(id, rank, 2, config)) {
            int number = 0;
            for (CollectiveCase one : CollectiveCase.sample(1, 2, 20, false)) {
                MessageInFlight message = MessageInFlight.start(comm, number++);
                one.check(comm, arena);
                message.finish();
            }
            comm.split(0, rank).orElseThrow().close();
            try {
                comm.barrier().await();
                if (rank == 0) {
                    comm.abort();
                }
                comm.barrier().await();
            } catch (JcclException e) {
                comm.shrink(List.of()).close();
            }
        }
    }

    private synchronized void report(String line) {
        out.println(WorkerProcess.REPORT + line);
        out.flush();
    }
}
