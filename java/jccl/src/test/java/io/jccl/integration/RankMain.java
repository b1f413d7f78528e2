package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;

import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.JcclException;
import io.jccl.Messages;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.Quorum;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.SymmetricMemory;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.Window;
import io.jccl.Work;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/** One rank of {@link ProcessRanks}: runs a scenario and prints lines that tests check. */
public final class RankMain {

    /** Argument instead of a unique id: the launcher's environment has the rendezvous address. */
    static final String LAUNCHED = "launched";

    /** Argument instead of a library that emulates GPUs: the scenario uses the GPUs of this host. */
    static final String OWN_LIBRARY = "own";

    /** Index of the scenario in the arguments. */
    static final int SCENARIO = 3;

    private static final long PAUSE_MILLIS = 1000;

    /** Time-out of initialisation: eight emulated GPUs take up to half a minute to connect on two busy cores. */
    private static final long CLOSE_LATER_MILLIS = 1500;

    private static final Duration DEVICE_MATRIX_INIT = Duration.ofSeconds(100);

    private RankMain() {}

    /** Arguments: unique id or {@link #LAUNCHED}, rank, size, scenario, and the arguments of the scenario. */
    public static void main(String[] arguments) throws Exception {
        UniqueId id = arguments[0].equals(LAUNCHED) ? null : UniqueId.parse(arguments[0]);
        int rank = Integer.parseInt(arguments[1]);
        int size = Integer.parseInt(arguments[2]);
        String scenario = arguments[SCENARIO];
        List<String> rest = List.of(arguments).subList(SCENARIO + 1, arguments.length);
        switch (scenario) {
            case "matrix" -> matrix(id, rank, size, rest);
            case "work" -> work(id, rank, size, rest);
            case "shrink" -> shrink(id, rank, size, rest);
            case "shrink-stopped" -> shrinkStopped(id, rank, size, rest);
            case "hosts" -> hosts(id, rank, size, rest);
            case "bound" -> bound(id, rank, size, rest);
            case "containers" -> hosts(id, rank, size, LocalRanks.config());
            case "plugins" -> PluginScenarios.run(id, rank, size);
            case "join" -> join(id, rank, size);
            case "launched-sample" -> launchedSample(Integer.parseInt(rest.get(0)));
            case "launched-work" -> launchedWork(Long.parseLong(rest.get(0)));
            case "late" -> late(id, rank, size, rest);
            case "full-heap" -> FullHeap.run(id, rank, size, rest);
            case "roots" -> roots(id, rank, size, rest);
            case "cycles" -> cycles(id, rank, size, rest);
            case "host-buffers" -> hostBuffers(id, rank, size, HostBufferScenarios.valueOf(rest.get(0)));
            case "host-registrations" -> HostRegistrations.run(id, rank, size, HostRegistrations.valueOf(rest.get(0)));
            case "adapter-registrations" -> AdapterRegistrations.run(rest.get(0));
            case "close" -> closeFirst(id, rank, size, rest.get(0));
            case "abort-in-place" -> InPlaceFailures.abort(id, rank, size);
            case "stop-in-place" -> InPlaceFailures.stop(
                    id, rank, size, Duration.ofMillis(Long.parseLong(rest.get(0))));
            case "device" -> device(id, rank, size, rest);
            case "device-matrix" -> deviceMatrix(id, rank, size, rest);
            case "device-work" -> deviceWork(id, rank, size, 0, deviceConfig(rank, rest));
            case "forwarding" -> forwarding(id, rank, size, rest);
            case "forwarding-work" -> deviceWork(id, rank, size, rank % 2, forwardingConfig(rank, rest));
            case "device-handle-exchange" -> deviceHandleExchange(id, rank, size, rest);
            case "peer-access" -> peerAccess(id, rank, size, rest);
            case "many-ranks" -> manyRanks(rest);
            case "nvls" -> nvls(id, rank, size, rest);
            case "collnet" -> CollNetScenarios.used(id, rank, size);
            case "collnet-device" -> CollNetScenarios.usedOnDevice(id, rank, size, collNetConfig(rest));
            case "collnet-device-work" -> deviceWork(id, rank, size, 0, collNetConfig(rest));
            case "windows" -> windows(id, rank, size, rest.get(0));
            case "splits" -> splits(id, rank, size);
            case "messages" -> messages(id, rank, size, rest.get(0));
            case "windows-passive" -> putToAPassiveRank(id, rank, size, rest.get(0));
            case "registered-buffers" -> registeredBuffers(id, rank, size, rest);
            default -> throw new IllegalArgumentException("scenario=" + scenario + ": unknown");
        }
    }

    /** Returns true if a scenario uses GPUs, emulated or real ones. */
    static boolean hasGpus(List<String> arguments) {
        String emulated = System.getProperty(EmulatedGpus.LIBRARY);
        return arguments.stream().anyMatch(one -> one.equals(emulated) || one.equals(OWN_LIBRARY));
    }

    /** Executes sampled cases over one transport. */
    private static void matrix(UniqueId id, int rank, int size, List<String> rest) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.parse(rest.get(0))).build();
        int cases = Integer.parseInt(rest.get(1));
        try (Communicator comm = Communicator.init(id, rank, size, config);
                Arena arena = new Arena(CollectiveCase.arenaBytes(size))) {
            for (CollectiveCase one : CollectiveCase.sample(size, size, cases, true)) {
                one.check(comm, arena);
            }
            VariantCases.check(comm);
            print("RESULT ok");
        }
    }

    /**
     * All-reduces until something fails, then prints the failure.
     *
     * <p>Arguments: the time-out in milliseconds; the rank that misbehaves; and what it does after 200 rounds:
     * {@code none}, {@code absent} (never calls again), {@code count} (calls with another count), {@code abort},
     * {@code leave} (closes).
     */
    private static void work(UniqueId id, int rank, int size, List<String> rest) throws InterruptedException {
        CommunicatorConfig config = LocalRanks.config()
                .timeout(Duration.ofMillis(Long.parseLong(rest.get(0))))
                .build();
        boolean differs = rank == Integer.parseInt(rest.get(1));
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            DataBuffer values = DataBuffer.of(longs(new long[4096]));
            long begin = System.nanoTime();
            try {
                for (int round = 0; ; round++) {
                    if (round == 200) {
                        print("READY");
                        begin = System.nanoTime();
                    }
                    if (differs && round == 200 && misbehave(comm, rest.get(2))) {
                        return;
                    }
                    comm.allReduce(values, ReduceOp.SUM).await();
                }
            } catch (JcclException e) {
                print("FAILED after " + (System.nanoTime() - begin) / 1_000_000 + " ms " + describe(e));
                print("MESSAGE " + e.getMessage());
            }
            try {
                comm.barrier();
            } catch (JcclException e) {
                print("AGAIN " + describe(e) + " cause=" + (e.getCause() instanceof JcclException));
            }
        }
        print("CLOSED");
    }

    /**
     * All-reduces until ranks fail and shrinks the communicator, again and again until a given number of ranks is left.
     * Then executes sampled cases.
     *
     * <p>Arguments: the number of ranks to end with, the time-out of init in milliseconds, and optionally a rank that
     * does not call shrink and waits to be killed.
     */
    private static void shrink(UniqueId id, int rank, int size, List<String> rest) throws InterruptedException {
        CommunicatorConfig config = LocalRanks.config()
                .initTimeout(Duration.ofMillis(Long.parseLong(rest.get(1))))
                .build();
        Communicator comm = Communicator.init(id, rank, size, config);
        print("RANKS " + comm.size() + " rank=" + comm.rank() + " id=" + comm.id());
        while (comm.size() > Integer.parseInt(rest.get(0))) {
            Communicator whole = comm;
            Set<Integer> failed = failedRanks(whole);
            if (rest.size() > 2 && rank == Integer.parseInt(rest.get(2))) {
                print("STAYS AWAY");
                new CountDownLatch(1).await(); // until this process is killed
            }
            print("WITHOUT " + failed);
            comm = without(whole, failed);
            whole.close();
            print("RANKS " + comm.size() + " rank=" + comm.rank() + " id=" + comm.id());
        }
        try (Communicator left = comm;
                Arena arena = new Arena(CollectiveCase.arenaBytes(left.size()))) {
            for (CollectiveCase one : CollectiveCase.sample(left.size(), left.size(), 40, true)) {
                one.check(left, arena);
            }
            print("RESULT ok");
        }
    }

    /**
     * All-reduces until ranks fail, then shrinks the communicator to the others. If that is refused, tries to shrink it
     * to this rank alone.
     *
     * <p>Argument: the heartbeat time-out in seconds.
     */
    private static void shrinkStopped(UniqueId id, int rank, int size, List<String> rest) {
        CommunicatorConfig config = LocalRanks.config()
                .setting("JCCL_HEARTBEAT_TIMEOUT", rest.get(0))
                .setting("JCCL_HEARTBEAT_INTERVAL", "0.1")
                .build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            PeerFailedException failure = failure(comm);
            print("FAILED " + describe(failure));
            print("MESSAGE " + failure.getMessage());
            Set<Integer> others = new TreeSet<>();
            for (int other = 0; other < size; other++) {
                others.add(other);
            }
            others.remove(rank);
            try (Communicator left = comm.shrink(failure.failedRanks())) {
                left.barrier().await();
                print("SHRUNK " + left.size());
                return;
            } catch (JcclException e) {
                print("REFUSED " + failure.failedRanks() + " " + describe(e) + " " + e.getMessage());
            }
            try (Communicator alone = comm.shrink(others)) {
                print("ALONE " + alone.size());
            } catch (JcclException e) {
                print("REFUSED others " + describe(e) + " " + e.getMessage());
            }
            try (Communicator alone = comm.shrink(others, Quorum.ANY)) {
                print("ASKED " + alone.size());
            }
        }
    }

    /** All-reduces until ranks fail, and returns the ranks that failed. */
    private static Set<Integer> failedRanks(Communicator comm) {
        return failure(comm).failedRanks();
    }

    private static PeerFailedException failure(Communicator comm) {
        DataBuffer values = DataBuffer.of(longs(new long[4096]));
        try {
            for (int round = 0; ; round++) {
                if (round == 20) {
                    print("READY " + comm.size());
                }
                comm.allReduce(values, ReduceOp.SUM).await();
            }
        } catch (PeerFailedException e) {
            return e;
        }
    }

    /** Shrinks the communicator without {@code failed}, and without ranks that fail or stay away meanwhile. */
    private static Communicator without(Communicator comm, Set<Integer> failed) {
        Set<Integer> excluded = new TreeSet<>(failed);
        while (true) {
            try {
                return comm.shrink(excluded);
            } catch (CommunicationTimeoutException e) {
                print("AWAY " + e.missingRanks() + " excluded " + excluded);
                excluded.addAll(e.missingRanks());
            } catch (PeerFailedException e) {
                print("FAILED " + e.failedRanks() + " excluded " + excluded);
                excluded.addAll(e.failedRanks());
            }
        }
    }

    /** Splits off communicators and closes them until a rank fails, then prints the failure. */
    private static void splits(UniqueId id, int rank, int size) {
        CommunicatorConfig config = LocalRanks.config().build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            for (int round = 0; ; round++) {
                if (round == 20) {
                    print("READY");
                }
                int order = round % 2 == 0 ? 1 : -1; // rank 0 of every second communicator is another rank
                try (Communicator one = comm.split(0, order * rank).orElseThrow()) {
                    one.barrier().await();
                }
            }
        } catch (JcclException e) {
            print("FAILED " + describe(e));
        }
        print("CLOSED");
    }

    private static boolean misbehave(Communicator comm, String how) throws InterruptedException {
        switch (how) {
            case "absent" -> new CountDownLatch(1).await(); // until this process is killed
            case "count" -> comm.allReduce(DataBuffer.of(longs(new long[100])), ReduceOp.SUM)
                    .await();
            case "abort" -> comm.abort("the loss is NaN\nRESULT ok");
            case "leave" -> {
                return true;
            }
            default -> {}
        }
        return false;
    }

    /**
     * Rank 0 closes at once and ends its JVM; the others close a second later and must see no failure. Argument:
     * {@code return} to end by the end of main, {@code exit} to call {@link System#exit}.
     */
    private static void closeFirst(UniqueId id, int rank, int size, String end) throws InterruptedException {
        Communicator comm = Communicator.init(id, rank, size);
        comm.barrier().await();
        long start = System.nanoTime();
        if (rank > 0) {
            Thread.sleep(CLOSE_LATER_MILLIS);
        }
        comm.failure().ifPresent(failure -> {
            throw failure;
        });
        comm.close();
        long millis = Duration.ofNanos(System.nanoTime() - start).toMillis();
        if (rank == 0 && millis >= CLOSE_LATER_MILLIS) {
            throw new IllegalStateException("close() took " + millis + " ms: it has waited for the other ranks");
        }
        print("RESULT ok");
        if (end.equals("exit")) {
            System.exit(0);
        }
    }

    /** Rank 1 puts to rank 2 until the communicator fails; the other ranks call nothing. Argument: a transport. */
    private static void putToAPassiveRank(UniqueId id, int rank, int size, String transport) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.valueOf(transport)).build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            Window window = comm.allocateWindow(1 << 20);
            CompletableFuture<JcclException> failure = new CompletableFuture<>();
            comm.onFailure(failure::complete);
            DataBuffer data = DataBuffer.of(new byte[1 << 20]);
            print("READY");
            try {
                while (rank == 1) {
                    window.put(2, 0, data);
                }
                throw failure.join();
            } catch (JcclException e) {
                print("FAILED " + describe(e));
            }
            try {
                window.fetchAdd(rank, 0, 0);
            } catch (JcclException e) {
                print("AGAIN " + describe(e) + " cause=" + (e.getCause() instanceof JcclException));
            }
            window.close();
        }
        print("CLOSED");
    }

    /** Checks one-sided operations, prints READY, and repeats them until the communicator fails. Argument: a transport. */
    private static void windows(UniqueId id, int rank, int size, String transport) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.valueOf(transport)).build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            WindowHistory.run(comm, 2, 30, size);
            Window window = comm.allocateWindow(1 << 20);
            DataBuffer data = DataBuffer.of(new byte[1 << 20]);
            print("READY");
            try {
                while (true) {
                    window.putSignal((rank + 1) % size, 0, data, 0);
                    window.waitSignal((rank + size - 1) % size, 0, 1);
                }
            } catch (JcclException e) {
                print("FAILED " + describe(e));
            }
            try {
                window.signal(rank, 0);
            } catch (JcclException e) {
                print("AGAIN " + describe(e) + " cause=" + (e.getCause() instanceof JcclException));
            }
            window.close();
        }
        print("CLOSED");
    }

    /**
     * Checks messages, prints READY, and passes messages of all sizes around until the communicator fails. Argument: a
     * transport.
     */
    private static void messages(UniqueId id, int rank, int size, String transport) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.valueOf(transport)).build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            MessageHistory.run(comm, 60, size);
            Messages messages = comm.messages();
            int right = (rank + 1) % size;
            int left = (rank + size - 1) % size;
            print("READY");
            try {
                for (int round = 0; ; round++) {
                    int bytes = round % 50 == 0 ? 1 << 20 : round % 7 == 0 ? 20_000 : 1 + round % 100;
                    Work send = messages.sendAsync(right, round % 3, DataBuffer.of(new byte[bytes]));
                    messages.receive(round % 2 == 0 ? left : Messages.ANY, round % 3, DataBuffer.of(new byte[1 << 20]));
                    send.await();
                }
            } catch (JcclException e) {
                print("FAILED " + describe(e));
            }
            try {
                messages.send(rank, 0, DataBuffer.of(new byte[1]));
            } catch (JcclException e) {
                print("AGAIN " + describe(e) + " cause=" + (e.getCause() instanceof JcclException));
            }
        }
        print("CLOSED");
    }

    private static String describe(JcclException e) {
        String name = e.getClass().getSimpleName();
        if (e instanceof PeerFailedException failed) {
            return name + failed.failedRanks();
        }
        if (e instanceof CommunicationTimeoutException late) {
            return name + late.missingRanks();
        }
        if (e instanceof MismatchedCollectiveException mismatched) {
            return name
                    + mismatched.rows().stream()
                            .map(row -> row.rank() + ":" + row.count())
                            .toList();
        }
        return name;
    }

    /** Executes sampled cases on simulated hosts. Arguments: a host name for each rank. */
    private static void hosts(UniqueId id, int rank, int size, List<String> rest) {
        hosts(id, rank, size, LocalRanks.config().hostId(rest.get(rank)));
    }

    /**
     * Prints the processors to which all threads are bound while a communicator exists, then prints the error of a
     * communicator with another setting. Arguments: the setting JCCL_CPU_AFFINITY of each rank.
     */
    private static void bound(UniqueId id, int rank, int size, List<String> rest) throws IOException {
        CommunicatorConfig.Builder config = LocalRanks.config().setting("JCCL_CPU_AFFINITY", rest.get(rank));
        try (Communicator comm = Communicator.init(id, rank, size, config.build())) {
            comm.barrier().await();
            Set<String> lists = new TreeSet<>();
            try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
                for (Path thread : threads) {
                    for (String line : Files.readAllLines(thread.resolve("status"))) {
                        if (line.startsWith("Cpus_allowed_list:")) {
                            lists.add(line.substring(line.indexOf(':') + 1).strip());
                        }
                    }
                }
            }
            print("BOUND " + lists);
            comm.barrier().await();
        }
        try {
            Communicator.init(
                    id,
                    rank,
                    size,
                    LocalRanks.config().setting("JCCL_CPU_AFFINITY", "0-63").build());
        } catch (IllegalArgumentException e) {
            print("REFUSED " + e.getMessage());
        }
        print("RESULT ok");
    }

    private static void hosts(UniqueId id, int rank, int size, CommunicatorConfig.Builder config) {
        try (Communicator comm = Communicator.init(id, rank, size, config.build())) {
            sample(comm, 60);
        }
    }

    /** Executes sampled cases with the rendezvous address of a launcher's environment. Argument: number of cases. */
    private static void launchedSample(int cases) {
        try (Communicator comm =
                Communicator.fromEnvironment(LocalRanks.config().build())) {
            sample(comm, cases);
        }
    }

    /** Prints the transports, executes sampled cases, and prints {@code RESULT ok} if all were right. */
    static void sample(Communicator comm, int cases) {
        print("TRANSPORTS "
                + comm.transports().stream()
                        .map(one -> one.peer() + ":" + one.kind().label())
                        .toList());
        try (Arena arena = new Arena(CollectiveCase.arenaBytes(comm.size()))) {
            for (CollectiveCase one : CollectiveCase.sample(comm.size(), comm.size(), cases, true)) {
                one.check(comm, arena);
            }
        }
        print("RESULT ok");
    }

    /**
     * All-reduces until something fails; prints a line for each slow all-reduce. Argument: time-out in milliseconds.
     */
    private static void launchedWork(long timeoutMillis) {
        CommunicatorConfig config =
                LocalRanks.config().timeout(Duration.ofMillis(timeoutMillis)).build();
        try (Communicator comm = Communicator.fromEnvironment(config)) {
            long[] values = new long[4096];
            for (int round = 0; ; round++) {
                Arrays.fill(values, round + comm.rank());
                long begin = System.nanoTime();
                try {
                    comm.allReduce(DataBuffer.of(values), ReduceOp.MAX).await();
                } catch (JcclException e) {
                    print("FAILED after " + millisSince(begin) + " ms " + describe(e));
                    print("MESSAGE " + e.getMessage());
                    return;
                }
                if (values[round % values.length] != round + comm.size() - 1) {
                    print("WRONG round=" + round + " value=" + values[round % values.length]);
                    return;
                }
                if (round == 100) {
                    print("READY");
                } else if (millisSince(begin) >= PAUSE_MILLIS && round > 100) {
                    print("WENT ON after " + millisSince(begin) + " ms");
                }
            }
        }
    }

    private static long millisSince(long beginNanos) {
        return (System.nanoTime() - beginNanos) / 1_000_000;
    }

    /** Calls operations with another root on rank 1 than on the others. Arguments: transport, algorithm. */
    private static void roots(UniqueId id, int rank, int size, List<String> rest) {
        CommunicatorConfig config = LocalRanks.config()
                .transport(TransportKind.parse(rest.get(0)))
                .setting("JCCL_ALGO", rest.get(1))
                .build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            RootsThatDifferTest.everyCase(comm);
        }
        print("RESULT ok");
    }

    /** Initialises a communicator and all-reduces a number. */
    private static void join(UniqueId id, int rank, int size) {
        print("JOINS");
        try (Communicator comm =
                Communicator.init(id, rank, size, LocalRanks.config().build())) {
            long[] value = {rank};
            comm.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
            print("RESULT " + value[0]);
        } catch (JcclException e) {
            print("FAILED " + describe(e));
            throw e;
        }
    }

    /**
     * The last rank enters the second operation late. The others print the CPU time of their wait, without the first
     * second of the wait, in which classes are loaded.
     *
     * <p>Arguments: delay in milliseconds, transport.
     */
    private static void late(UniqueId id, int rank, int size, List<String> rest) throws InterruptedException {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.parse(rest.get(1))).build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            DataBuffer values = DataBuffer.of(longs(new long[16]));
            comm.allReduce(values, ReduceOp.SUM).await();
            if (rank == size - 1) {
                new CountDownLatch(1).await(Long.parseLong(rest.get(0)), TimeUnit.MILLISECONDS);
                comm.allReduce(values, ReduceOp.SUM).await();
                return;
            }
            CompletableFuture<ThreadTimes> amid = CompletableFuture.supplyAsync(
                    ThreadTimes::now, CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS));
            comm.allReduce(values, ReduceOp.SUM).await();
            ThreadTimes before = amid.join();
            ThreadTimes after = ThreadTimes.now();
            Map<String, Long> used = after.millisSince(before);
            long sum = used.values().stream().mapToLong(Long::longValue).sum();
            long waited = after.millisAfter(before);
            print("WAITED " + waited + " ms, processor " + sum + " ms " + used);
        }
    }

    /**
     * Splits off communicators and closes them, again and again, and requires that they leave nothing behind.
     *
     * <p>Arguments: number of communicators, transport.
     */
    private static void cycles(UniqueId id, int rank, int size, List<String> rest) {
        System.setProperty("jccl.leak.cycles", rest.get(0));
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.parse(rest.get(1))).build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            Cycles cycles = Cycles.of(() -> {
                try (Communicator part = comm.split(0, rank).orElseThrow()) {
                    Cycles.use(part);
                }
            });
            print(cycles.toString());
            cycles.requireNothingLeft();
            print("RESULT ok");
        }
    }

    /** Runs a scenario as one of two ranks, or as both ranks if there is only one process. */
    private static void hostBuffers(UniqueId id, int rank, int size, HostBufferScenarios scenario) {
        CommunicatorConfig config = LocalRanks.config().build();
        if (size == 1) {
            try (LocalRanks ranks = LocalRanks.start(2, config)) {
                ranks.run(scenario::runOn);
            }
        } else {
            try (Communicator comm = Communicator.init(id, rank, size, config)) {
                scenario.runOn(comm);
            }
        }
        print("RESULT ok");
    }

    /**
     * Compares every collective on device memory with the same collective on host memory.
     *
     * <p>Arguments: the library that emulates GPUs or {@link #OWN_LIBRARY}, a value of JCCL_GPU_HOST_STAGING, and
     * optionally a host name for each rank.
     */
    private static void device(UniqueId id, int rank, int size, List<String> rest) {
        try (Communicator comm = Communicator.init(id, rank, size, deviceConfig(rank, rest))) {
            DeviceCollectives.compareAll(comm, 0, size, type -> true);
            print("RESULT ok");
        }
    }

    /**
     * Runs {@link DeviceMatrix}. Arguments: library that emulates GPUs, ranks of a process, devices, interval of cases,
     * whether buffers are symmetric memory.
     */
    private static void deviceMatrix(UniqueId id, int process, int processes, List<String> rest) throws Exception {
        System.setProperty("jccl.cuda.path", rest.get(0));
        int each = Integer.parseInt(rest.get(1));
        DeviceMatrix.run(
                id,
                process,
                each,
                processes * each,
                Integer.parseInt(rest.get(2)),
                Integer.parseInt(rest.get(3)),
                Boolean.parseBoolean(rest.get(4)),
                EmulatedGpus.config().initTimeout(DEVICE_MATRIX_INIT).build());
        print("RESULT ok");
    }

    /**
     * All-reduces on several communicators and closes them, then prints the shared GPU memory that is left.
     *
     * <p>Arguments: the library that emulates GPUs, and optionally a host name for each rank.
     */
    private static void deviceHandleExchange(UniqueId id, int rank, int size, List<String> rest) {
        List<String> arguments = new ArrayList<>(rest);
        arguments.add(1, "off");
        CommunicatorConfig config = deviceConfig(rank, arguments);
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            EmulatedGpus.sumUp(comm, 0);
            for (int round = 0; round < 2; round++) {
                try (Communicator part = comm.split(0, rank).orElseThrow()) {
                    EmulatedGpus.sumUp(part, 0);
                }
            }
        }
        print("LEFT " + EmulatedGpus.sharedMemory());
    }

    /**
     * Exchanges data between emulated GPUs. If there is one process, all ranks are its threads.
     *
     * <p>Arguments: the library that emulates GPUs; the device of each rank, separated by commas.
     */
    private static void peerAccess(UniqueId id, int process, int processes, List<String> rest) {
        System.setProperty("jccl.cuda.path", rest.get(0));
        int[] devices = Arrays.stream(rest.get(1).split(","))
                .mapToInt(Integer::parseInt)
                .toArray();
        if (processes == 1) {
            try (LocalRanks ranks = LocalRanks.start(
                    devices.length,
                    rank -> EmulatedGpus.config().device(devices[rank]).build())) {
                ranks.run(comm -> EmulatedGpus.exchange(comm, devices[comm.rank()]));
            }
        } else {
            CommunicatorConfig config =
                    EmulatedGpus.config().device(devices[process]).build();
            try (Communicator comm = Communicator.init(id, process, processes, config)) {
                EmulatedGpus.exchange(comm, devices[process]);
            }
        }
        print("RESULT ok");
    }

    /**
     * Runs many ranks as threads of this process. They all-reduce a number and use symmetric memory, and may compare every
     * collective on device memory with the same collective on host memory.
     *
     * <p>Arguments: the library that emulates GPUs; the number of ranks; the number of ranks of a host, except that the
     * last host may have fewer; the number of devices of a host; true to compare.
     */
    private static void manyRanks(List<String> rest) {
        System.setProperty("jccl.cuda.path", rest.get(0));
        int size = Integer.parseInt(rest.get(1));
        int each = Integer.parseInt(rest.get(2));
        int devices = Integer.parseInt(rest.get(3));
        boolean compares = Boolean.parseBoolean(rest.get(4));
        CommunicatorConfig config = DeviceCollectives.config("ring", "simple")
                .initTimeout(DEVICE_MATRIX_INIT)
                .build();
        try (LocalRanks ranks = LocalRanks.start(size, rank -> config.toBuilder()
                .device(rank % each % devices)
                .hostId("host" + rank / each)
                .build())) {
            ranks.run(comm -> {
                int device = comm.rank() % each % devices;
                sumUpRanks(comm, device);
                useSymmetricMemoryWithoutInPlace(comm);
                if (compares) {
                    DeviceCollectives.compareEach(comm, device, size, type -> type == DataType.INT32);
                }
            });
        }
        print("RESULT ok");
    }

    private static void sumUpRanks(Communicator comm, int device) {
        try (DeviceMemory memory = new DeviceMemory(device, Long.BYTES)) {
            memory.putLongs(LongStream.of(comm.rank()));
            comm.on(memory.stream()).allReduce(memory.elements(1, DataType.INT64), ReduceOp.SUM);
            long sum = memory.longs(1)[0];
            if (sum != comm.size() * (comm.size() - 1L) / 2) {
                throw new AssertionError("rank=" + comm.rank() + " sum=" + sum);
            }
        }
    }

    /** Requires that symmetric memory and registrations of more ranks than work in place have no effect. */
    private static void useSymmetricMemoryWithoutInPlace(Communicator comm) {
        long count = 100;
        try (SymmetricMemory memory = comm.allocateSymmetric(count * Long.BYTES);
                Registration registration = comm.register(memory.slice(0, count, DataType.INT64))) {
            if (memory.isInPlace() || registration.isInPlace()) {
                throw new AssertionError("size=" + comm.size() + " works in place");
            }
            comm.allReduce(memory.slice(0, count, DataType.INT64), ReduceOp.SUM).await();
        }
    }

    /** All-reduces twice through the switch between the GPUs. Arguments: library that emulates GPUs, topology file. */
    private static void nvls(UniqueId id, int rank, int size, List<String> rest) {
        System.setProperty("jccl.cuda.path", rest.get(0));
        CommunicatorConfig config = EmulatedGpus.config()
                .device(rank)
                .setting("JCCL_TOPO_FILE", rest.get(1))
                .setting("JCCL_ALGO", "nvls")
                .build();
        try (Communicator comm = Communicator.init(id, rank, size, config)) {
            for (int round = 0; round < 2; round++) {
                EmulatedGpus.sumUp(comm, rank);
                EmulatedGpus.sumUpSymmetric(comm, rank);
                EmulatedGpus.sendSymmetric(comm, rank);
            }
        }
        print("LEFT " + EmulatedGpus.sharedMemory());
    }

    /**
     * Runs a scenario of {@link RegisteredBuffers}. Arguments: its name, the library, for "work" the time-out in ms.
     */
    private static void registeredBuffers(UniqueId id, int rank, int size, List<String> rest) {
        switch (rest.get(0)) {
            case "results" -> RegisteredBuffers.results(id, rank, size, rest.get(1));
            case "refused" -> RegisteredBuffers.refused(id, rank, size, rest.get(1));
            case "abort" -> RegisteredBuffers.abort(id, rank, size, rest.get(1));
            case "symmetric" -> RegisteredBuffers.symmetric(id, rank, size, rest.get(1));
            case "work" -> RegisteredBuffers.work(
                    id, rank, size, rest.get(1), Duration.ofMillis(Long.parseLong(rest.get(2))));
            default -> throw new IllegalArgumentException("scenario=" + rest.get(0) + ": unknown");
        }
    }

    /**
     * Makes this process use a library that emulates GPUs, unless it is {@link #OWN_LIBRARY}. Must be called before the
     * first use of a device.
     */
    static void useLibrary(String library) {
        if (!library.equals(OWN_LIBRARY)) {
            System.setProperty("jccl.cuda.path", library);
        }
    }

    private static CommunicatorConfig deviceConfig(int rank, List<String> rest) {
        useLibrary(rest.get(0));
        CommunicatorConfig.Builder config =
                DeviceCollectives.config("ring", "simple").device(0).setting("JCCL_GPU_HOST_STAGING", rest.get(1));
        return rest.size() == 2
                ? config.build()
                : config.hostId(rest.get(2 + rank)).build();
    }

    /** Returns the configuration of a rank with a GPU. Argument: library that emulates GPUs. */
    private static CommunicatorConfig collNetConfig(List<String> rest) {
        useLibrary(rest.get(0));
        return LocalRanks.config()
                .device(0)
                .setting("JCCL_GPU_HOST_STAGING", "off")
                .build();
    }

    /** Compares every collective between hosts of two ranks. Arguments: library that emulates GPUs, topology file. */
    private static void forwarding(UniqueId id, int rank, int size, List<String> rest) {
        try (Communicator comm = Communicator.init(id, rank, size, forwardingConfig(rank, rest))) {
            DeviceCollectives.compareEach(comm, rank % 2, size, type -> !type.isFloating());
            print("RESULT ok");
        }
        print("LEFT " + EmulatedGpus.sharedMemory());
    }

    private static CommunicatorConfig forwardingConfig(int rank, List<String> rest) {
        return deviceConfig(rank, List.of(rest.get(0), "off")).toBuilder()
                .device(rank % 2)
                .hostId("host" + rank / 2)
                .setting("JCCL_TOPO_FILE", rest.get(1))
                .build();
    }

    /** All-reduces on device memory until something fails, then prints the failure. */
    private static void deviceWork(UniqueId id, int rank, int size, int device, CommunicatorConfig config) {
        try (Communicator comm = Communicator.init(id, rank, size, config);
                DeviceMemory memory = new DeviceMemory(device, 32_768)) {
            DataBuffer values = memory.elements(4096, DataType.INT64);
            try {
                for (int round = 0; ; round++) {
                    comm.on(memory.stream()).allReduce(values, ReduceOp.SUM).await();
                    if (round == 20) {
                        print("READY");
                    }
                }
            } catch (JcclException e) {
                print("FAILED " + describe(e));
            }
        }
        print("CLOSED");
    }

    static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
