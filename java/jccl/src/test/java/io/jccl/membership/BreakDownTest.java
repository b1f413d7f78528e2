package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.management.ThreadMXBean;
import io.jccl.BootstrapException;
import io.jccl.ChannelWait;
import io.jccl.JcclException;
import io.jccl.RankOperation;
import io.jccl.control.FailureListener;
import io.jccl.control.FailureReport;
import io.jccl.control.OperationRecord;
import io.jccl.control.ReportKind;
import io.jccl.control.StatusSource;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.LastEntered;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests JVM errors on threads of the control plane: either the thread continues, or all ranks learn of the error at
 * once.
 */
@Timeout(120)
class BreakDownTest {

    /**
     * Time in which ranks must learn of an error: far below the heartbeat time-out, after which a silent rank is
     * noticed.
     */
    private static final long SOON_SECONDS = 10;

    private final List<Bootstrap> group = new ArrayList<>();
    private final List<Heard> heard = new ArrayList<>();

    /** One rank's failure listener, which records its calls and can throw OutOfMemoryError. */
    private static final class Heard implements FailureListener {
        final BlockingQueue<FailureReport> agreed = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> own = new LinkedBlockingQueue<>();
        final AtomicInteger stopped = new AtomicInteger();
        final AtomicInteger refusals = new AtomicInteger(); // number of coming calls that throw OutOfMemoryError

        @Override
        public void onFailure(FailureReport report) {
            refuse();
            agreed.add(report);
        }

        @Override
        public void stopOperations() {
            stopped.incrementAndGet();
        }

        @Override
        public void onBreakDown(String text, Throwable error) {
            refuse();
            own.add(error);
        }

        private void refuse() {
            if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw new OutOfMemoryError("of the listener");
            }
        }
    }

    /** A status source whose next {@code refusals} calls throw OutOfMemoryError. */
    private static final class FullHeap implements StatusSource {
        final AtomicInteger refusals = new AtomicInteger();

        @Override
        public LastEntered lastEntered() {
            if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw new OutOfMemoryError("of the source");
            }
            return LastEntered.NOTHING;
        }

        @Override
        public Optional<OperationRecord> recordAt(long sequence) {
            return Optional.empty();
        }

        @Override
        public List<ChannelWait> waitingRows() {
            return List.of();
        }
    }

    /** The source of a rank whose last operation is not compared with operations of other ranks. */
    private static final StatusSource TRANSFERRED = new StatusSource() {
        private final LastEntered last = new LastEntered(3, 0);

        @Override
        public LastEntered lastEntered() {
            return last;
        }

        @Override
        public Optional<OperationRecord> recordAt(long sequence) {
            return Optional.of(new OperationRecord(0, RankOperation.absent(0, sequence)));
        }

        @Override
        public List<ChannelWait> waitingRows() {
            return List.of();
        }
    };

    private static Stream<StatusSource> sources() {
        return Stream.of(StatusSource.NOTHING, TRANSFERRED);
    }

    @AfterEach
    void closeAll() throws InterruptedException {
        if (!group.isEmpty()) {
            Ranks.close(group);
        }
    }

    private void initialize(int size, StatusSource source) throws InterruptedException {
        group.addAll(Ranks.join(size, Ranks.options().withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(60))));
        for (Bootstrap rank : group) {
            Heard mine = new Heard();
            heard.add(mine);
            rank.control().start(source, mine);
        }
    }

    private static Stream<Supplier<Error>> errors() {
        return Stream.of(
                () -> new OutOfMemoryError("Java heap space, says the test"),
                () -> new StackOverflowError(),
                () -> new NoClassDefFoundError("io/jccl/Lost"));
    }

    static Stream<Arguments> errorsByRank() {
        return Stream.of(0, 1, 4).flatMap(rank -> errors().map(error -> Arguments.of(rank, error.get())));
    }

    @ParameterizedTest
    @MethodSource("errorsByRank")
    void anErrorOnTheControlThreadOfARankFailsAllRanksAndIsNamed(int victim, Error error) throws InterruptedException {
        initialize(5, StatusSource.NOTHING);
        heard.get(victim).refusals.set(3);
        group.get(victim).onControlThread(() -> {
            throw error;
        });
        requireAllHearOf("rank=" + victim, error);
        assertThat(heard.get(victim).own.poll(SOON_SECONDS, TimeUnit.SECONDS)).isSameAs(error);
        assertThat(heard.get(victim).stopped).as("stopped without memory").hasPositiveValue();
        Throwable thrown = catchThrowable(() -> group.get(victim).outOfBand().barrier(Ranks.SOON));
        assertThat(thrown).isInstanceOf(JcclException.class).hasMessageContaining(error.toString());
    }

    static Stream<Error> someErrors() {
        return errors().map(Supplier::get);
    }

    @ParameterizedTest
    @MethodSource("someErrors")
    void anErrorOnTheCoordinatorsThreadFailsAllRanksAndIsNamed(Error error) throws InterruptedException {
        initialize(5, StatusSource.NOTHING);
        group.get(0).onCoordinatorThread(() -> {
            throw error;
        });
        requireAllHearOf("the coordinator on rank 0", error);
        long start = System.nanoTime();
        Ranks.close(group);
        group.clear();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .as("ranks still leave in good order")
                .isLessThan(Duration.ofSeconds(SOON_SECONDS));
    }

    private void requireAllHearOf(String who, Error error) throws InterruptedException {
        for (int rank = 0; rank < group.size(); rank++) {
            FailureReport report = heard.get(rank).agreed.poll(SOON_SECONDS, TimeUnit.SECONDS);
            assertThat(report).as("failure of rank %d", rank).isNotNull();
            assertThat(report.kind()).isEqualTo(FailureReport.Kind.ABORTED);
            assertThat(report.text()).contains(who, error.toString());
        }
    }

    @Test
    void aListenerWithoutMemoryLearnsOfTheFailureOnceMemoryReturns() throws InterruptedException {
        initialize(2, StatusSource.NOTHING);
        heard.get(1).refusals.set(5);
        group.get(0).control().report(ReportKind.ABORT, 0, "given up");
        FailureReport report = heard.get(1).agreed.poll(SOON_SECONDS, TimeUnit.SECONDS);
        assertThat(report).isNotNull();
        assertThat(report.text()).contains("given up");
        assertThat(heard.get(1).stopped)
                .as("operations end before memory returns")
                .hasPositiveValue();
    }

    @Test
    void aRankWhoseHeapIsFullForAWhileStaysInTheGroup() throws InterruptedException {
        FullHeap source = new FullHeap();
        initialize(3, source);
        source.refusals.set(100); // heartbeats of all ranks; each rank sends one every 50 ms
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (source.refusals.get() > 0) {
            assertThat(System.nanoTime()).as("heartbeats continue").isLessThan(deadline);
            TimeUnit.MILLISECONDS.sleep(1);
        }
        Ranks.onAll(group, rank -> {
            rank.outOfBand().barrier(Ranks.SOON);
            return null;
        });
        for (Heard one : heard) {
            assertThat(one.agreed).isEmpty();
            assertThat(one.own).isEmpty();
        }
    }

    /** In a full heap every allocation waits for the garbage collector, which can take seconds. */
    @ParameterizedTest
    @MethodSource("sources")
    void threadsOfAWaitingGroupAllocateNothing(StatusSource source) throws InterruptedException {
        Set<Thread> earlier = Thread.getAllStackTraces().keySet(); // threads of other tests' groups
        initialize(3, source);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] ids = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !earlier.contains(thread))
                .filter(thread -> thread.getName().matches("jccl-(control-\\d+|coordinator)"))
                .mapToLong(Thread::getId)
                .toArray();
        assertThat(ids).hasSizeGreaterThanOrEqualTo(4);
        long fewest = Long.MAX_VALUE;
        for (int attempt = 0; attempt < 20 && fewest > 0; attempt++) {
            long[] before = threads.getThreadAllocatedBytes(ids);
            TimeUnit.SECONDS.sleep(1); // 20 heartbeats of each rank
            long[] after = threads.getThreadAllocatedBytes(ids);
            fewest = Math.min(
                    fewest,
                    IntStream.range(0, ids.length)
                            .mapToLong(i -> after[i] - before[i])
                            .max()
                            .getAsLong());
        }
        assertThat(fewest).as("bytes of the thread that allocates most").isLessThanOrEqualTo(bytesOfSelectors());
    }

    /**
     * Returns the most bytes that the JDK's selector may allocate in a second. It finds a channel by the boxed number of
     * its descriptor, for which Java keeps objects up to 127 only; these bytes come and go with the tests before.
     */
    private static long bytesOfSelectors() {
        String[] descriptors = Objects.requireNonNull(new File("/proc/self/fd").list());
        boolean high = Arrays.stream(descriptors).mapToInt(Integer::parseInt).anyMatch(number -> number > 127);
        return high
                ? 16 * 3 * 2 * 20
                : 0; // an Integer for each heartbeat of three ranks, twice as many when they are late
    }

    @Test
    void anInquiryOfTheCoordinatorIsAnsweredOnceMemoryReturns() throws InterruptedException {
        FullHeap source = new FullHeap();
        initialize(2, source);
        source.refusals.set(6);
        group.get(1).control().timedOut(1, Duration.ofSeconds(1), "an operation took 1 s");
        for (Heard one : heard) {
            FailureReport report = one.agreed.poll(SOON_SECONDS, TimeUnit.SECONDS);
            assertThat(report).isNotNull();
            assertThat(report.kind()).isEqualTo(FailureReport.Kind.TIMEOUT);
        }
    }

    @ParameterizedTest
    @MethodSource("someErrors")
    void joiningRanksLearnOfAnErrorOfTheRendezvousServer(Error error) throws InterruptedException {
        BootstrapOptions options = Ranks.options();
        RendezvousServer.Started started = RendezvousServer.open(options);
        started.server().onThread(() -> {
            throw error;
        });
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            tasks.add(() -> Bootstrap.join(started.id(), mine, 2, options));
        }
        for (Ranks.Outcome<Bootstrap> outcome : Ranks.together(tasks)) {
            assertThat(outcome.error()).isInstanceOf(BootstrapException.class).hasMessageContaining(error.toString());
        }
        started.server().close();
    }
}
