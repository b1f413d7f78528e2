package io.jccl.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.DeviceStream;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.UniqueId;
import io.jccl.nativelib.Code;
import io.jccl.testing.Waiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests how operations end if they throw, if threads that await them are interrupted, or if a continuation closes the
 * communicator.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OperationQueueTest {

    private static final int IDLE_PERCENT = 15; // a thread that spins uses most of a core
    private static final Duration SAMPLE_TIME = Duration.ofMillis(400);

    private Communicator comm = Communicator.init(UniqueId.create(), 0, 1);

    private final List<Slow> slows = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        slows.forEach(slow -> slow.end.countDown());
        comm.close();
    }

    /** The body of a test's operation, which may throw anything. */
    @FunctionalInterface
    private interface Body {
        long run() throws Throwable;
    }

    private static final class TestOperation extends OperationWork {

        private final AtomicInteger executed;

        TestOperation(TestBackend backend, OperationCall call) {
            super(backend, call, Deadlines.NONE);
            this.executed = backend.executed;
        }
    }

    /** A backend that executes one operation. */
    private static final class TestBackend implements Backend {

        private final OperationQueue queue;
        private final Body body;
        private final Body release;
        private final AtomicInteger executed = new AtomicInteger();
        private final AtomicInteger described = new AtomicInteger();
        private final int descriptionsThatThrow;

        TestBackend(OperationQueue queue, Body body, Body release, int descriptionsThatThrow) {
            this.queue = queue;
            this.body = body;
            this.release = release;
            this.descriptionsThatThrow = descriptionsThatThrow;
        }

        @Override
        public OperationQueue queue() {
            return queue;
        }

        @Override
        public TestOperation issue(OperationCall call, DeviceStream stream, long deadline) {
            TestOperation operation = new TestOperation(this, call);
            queue.enqueue(operation);
            return operation;
        }

        @Override
        public SymmetricAllocation.Memory allocate(long bytes) {
            throw new AssertionError("these tests allocate nothing");
        }

        @Override
        public long choice(int signature, boolean sameCounts, long bytes) {
            throw new AssertionError("nothing profiles a test's operations");
        }

        @Override
        public long execute(OperationWork work, long timeoutNanos) {
            executed.incrementAndGet();
            return call(body);
        }

        @Override
        public String describe(OperationWork work) {
            if (described.getAndIncrement() < descriptionsThatThrow) {
                throw new StackOverflowError("of the test, while it is described");
            }
            return "test()";
        }

        @Override
        public void release(OperationWork work) {
            call(release);
        }

        private static long call(Body body) {
            try {
                return body.run();
            } catch (Throwable e) {
                throw OperationQueueTest.<RuntimeException>asUnchecked(e);
            }
        }
    }

    @SuppressWarnings("unchecked") // throws a checked exception as an unchecked one
    private static <E extends Throwable> E asUnchecked(Throwable e) throws E {
        throw (E) e;
    }

    /** An operation whose body lasts until the test ends it, and notices no interrupt, like native code. */
    private final class Slow {
        private final CountDownLatch end = new CountDownLatch(1);
        private final CountDownLatch begun = new CountDownLatch(1);
        private final Object monitor = new Object();
        private volatile TestOperation operation;
        private volatile Thread thread;
        private volatile int status;

        Slow() {
            slows.add(this);
            Waiter.in("CountDownLatch.await", this::holdMonitor);
        }

        private void holdMonitor() {
            synchronized (monitor) {
                try {
                    end.await();
                } catch (InterruptedException e) {
                    throw new AssertionError("interrupted", e);
                }
            }
        }

        private void issueAndAwait() {
            operation = issue(() -> {
                thread = Thread.currentThread();
                begun.countDown();
                synchronized (monitor) {
                    return status;
                }
            });
            operation.await();
        }

        void end(int with) {
            status = with;
            end.countDown();
        }
    }

    /** A slow operation and the thread that executes it, which is not the communicator's thread. */
    private record Running(Slow slow, Waiter runner) {}

    private Running startSlow() throws InterruptedException {
        while (true) {
            Slow slow = new Slow();
            Waiter runner = Waiter.in("OperationQueueTest$Slow.issueAndAwait", slow::issueAndAwait);
            slow.begun.await();
            if (runner.isThread(slow.thread)) {
                return new Running(slow, runner);
            }
            slow.end(Code.OK); // the communicator's thread executes the operation: try again
            assertThat(runner.end()).isNull();
        }
    }

    private TestOperation issue(Body body) {
        return issue(body, () -> Code.OK, 0);
    }

    private TestOperation issue(Body body, Body release, int descriptionsThatThrow) {
        CommunicatorImpl here = (CommunicatorImpl) comm;
        OperationQueue queue = ((OperationWork) comm.barrier()).backend().queue();
        here.beginIssue();
        try {
            return new TestBackend(queue, body, release, descriptionsThatThrow)
                    .issue(new GroupCall(false, List.of()), null, Deadlines.NONE);
        } finally {
            queue.endIssue();
        }
    }

    static Stream<Throwable> throwables() {
        return Stream.of(
                new StackOverflowError("of the test"),
                new OutOfMemoryError("of the test"),
                new AssertionError("of the test"),
                new NoClassDefFoundError("of the test"),
                new IllegalStateException("of the test"),
                new Exception("of the test"));
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void anyThrowableEndsTheOperationOnce(Throwable thrown) {
        TestOperation operation = issue(() -> {
            throw thrown;
        });
        requireBrokenBy(thrown, operation);
        assertThat(operation.executed).hasValue(1);
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void anyThrowableFromTheReleaseOfBuffersEndsTheOperationOnce(Throwable thrown) {
        AtomicInteger releases = new AtomicInteger();
        TestOperation operation = issue(
                () -> Code.OK,
                () -> {
                    if (releases.getAndIncrement() == 0) {
                        throw thrown;
                    }
                    return 0;
                },
                0);
        requireBrokenBy(thrown, operation);
        assertThat(operation.executed).hasValue(1);
    }

    private void requireBrokenBy(Throwable thrown, TestOperation operation) {
        Throwable first = catchThrowable(operation::await);
        assertThat(first).isInstanceOf(JcclException.class).hasRootCause(thrown);
        assertThat(operation.isDone()).isTrue();
        assertThatThrownBy(operation::await)
                .isInstanceOf(JcclException.class)
                .hasMessage(first.getMessage())
                .hasRootCause(thrown);
        assertThat(operation.toFuture()).failsWithin(Duration.ofSeconds(10));
        assertThatThrownBy(comm::barrier).isInstanceOf(JcclException.class).hasRootCause(thrown);
    }

    @Test
    void anErrorWhileAnErrorIsHandledEndsTheOperationOnce() {
        TestOperation operation = issue(
                () -> {
                    throw new StackOverflowError("of the test");
                },
                () -> Code.OK,
                1);
        Throwable first = catchThrowable(operation::await); // the error itself, or the communicator's failure
        assertThat(first).isInstanceOfAny(StackOverflowError.class, JcclException.class);
        assertThatThrownBy(operation::await).isInstanceOf(JcclException.class);
        assertThat(operation.executed).hasValue(1);
        assertThatThrownBy(comm::barrier).isInstanceOf(JcclException.class);
    }

    /**
     * Awaits with various parts of the stack left, so that the stack ends in every method between await() and the
     * operation.
     */
    @Test
    void aStackThatEndsAnywhereExecutesTheOperationAtMostOnce() throws Exception {
        int deepest = depth(new int[1], 0);
        for (int left = 2; left < 400; left += left < 80 ? 2 : 20) {
            TestOperation operation = issue(() -> depth(new int[1], 0));
            Descent descent = new Descent(deepest - left, operation);
            Thread thread = new Thread(null, descent, "test-deep", STACK_BYTES);
            thread.start();
            thread.join();
            Throwable after = catchThrowable(operation::await);
            assertThat(operation.executed.get()).as("left=%d", left).isLessThanOrEqualTo(1);
            if (after != null) {
                assertThat(after).isInstanceOf(JcclException.class);
            }
            comm.close();
            comm = Communicator.init(UniqueId.create(), 0, 1);
        }
    }

    private static final long STACK_BYTES = 512 << 10;

    @SuppressWarnings("InfiniteRecursion") // measures the depth at which the stack ends
    private static int depth(int[] deepest, int now) {
        deepest[0] = now;
        try {
            depth(deepest, now + 1);
        } catch (StackOverflowError e) {
            return deepest[0];
        }
        return deepest[0];
    }

    /** Calls itself to a certain depth and awaits the operation there. */
    private record Descent(int depth, OperationWork operation) implements Runnable {
        @Override
        public void run() {
            try {
                down(depth);
            } catch (StackOverflowError | JcclException e) {
                return; // either exception is allowed
            }
        }

        private void down(int left) {
            if (left <= 0) {
                operation.await();
            } else {
                down(left - 1);
            }
        }
    }

    @Test
    void anInterruptedWaitForAnOperationThatHasNotBegunEndsPromptlyAndTheOperationStays() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        TestOperation next = issue(() -> Code.OK);
        CompletableFuture<Void> future = next.toFuture();
        List<Long> millis = new ArrayList<>();
        for (int round = 0; round < 5; round++) {
            Waiter waiter = Waiter.in("OperationQueue.awaitOthers", next::await).interrupt();
            assertThat(waiter.end())
                    .isInstanceOf(InterruptedCommunicationException.class)
                    .hasMessageContaining("test()");
            assertThat(waiter.interruptedAtEnd()).isTrue();
            millis.add(waiter.millisAfterInterrupt());
        }
        assertThat(millis).as("at least one, on a busy host").anyMatch(it -> it < Waiter.PROMPTLY.toMillis());
        assertThat(next.isDone()).isFalse();
        slow.end(Code.OK);
        assertThat(runner.end()).isNull();
        next.await();
        future.get(10, TimeUnit.SECONDS);
        assertThat(next.executed).hasValue(1);
    }

    @Test
    void aThreadThatIsInterruptedBeforeItWaitsDoesNotExecuteTheOperation() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        TestOperation next = issue(() -> Code.OK);
        Thread.currentThread().interrupt();
        Throwable thrown = catchThrowable(next::await);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(thrown).isInstanceOf(InterruptedCommunicationException.class);
        slow.end(Code.OK);
        assertThat(runner.end()).isNull();
        next.await();
        Thread.currentThread().interrupt();
        next.await(); // the operation is complete
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptedWaitForAnOperationThatAnotherThreadRunsFailsTheCommunicatorAndSleeps() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        Waiter waiter =
                Waiter.in("OperationQueue.awaitOthers", slow.operation::await).interrupt();
        assertThat(waiter.processorPercentDuring(SAMPLE_TIME)).isLessThan(IDLE_PERCENT);
        assertThatThrownBy(comm::barrier).isInstanceOf(AbortedException.class).hasMessageContaining("interrupted");
        slow.end(Code.ABORTED);
        assertThat(waiter.end()).isInstanceOf(InterruptedCommunicationException.class);
        assertThat(waiter.interruptedAtEnd()).isTrue();
        assertThat(runner.end()).isInstanceOf(AbortedException.class).hasMessageContaining("test() on rank=0");
        assertThat(runner.interruptedAtEnd()).isFalse();
    }

    @Test
    void anInterruptOfTheThreadThatRunsAnOperationFailsTheCommunicator() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        TestOperation next = issue(() -> Code.OK);
        long begin = System.nanoTime();
        runner.interrupt();
        while (catchThrowable(comm::barrier) == null) {
            Thread.yield();
        }
        // Allows ten times the usual limit, for a busy host.
        assertThat(System.nanoTime() - begin).isLessThan(10 * Waiter.PROMPTLY.toNanos());
        slow.end(Code.ABORTED);
        assertThat(runner.end()).isInstanceOf(InterruptedCommunicationException.class);
        assertThat(runner.interruptedAtEnd()).isTrue();
        assertThatThrownBy(next::await).isInstanceOf(AbortedException.class).hasMessageContaining("test() on rank=0");
        assertThat(next.executed).hasValue(0);
    }

    @Test
    void anInterruptedCloseSleepsWhileAnOperationRunsAndFailsTheOthers() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        TestOperation next = issue(() -> Code.OK);
        CompletableFuture<Void> future = next.toFuture();
        Waiter closer = Waiter.in("OperationQueue.awaitOthers", comm::close).interrupt();
        assertThat(closer.processorPercentDuring(SAMPLE_TIME)).isLessThan(IDLE_PERCENT);
        slow.end(Code.ABORTED);
        assertThat(closer.end()).isNull();
        assertThat(closer.interruptedAtEnd()).isTrue();
        assertThat(runner.end()).isInstanceOf(AbortedException.class);
        assertThatThrownBy(next::await).isInstanceOf(AbortedException.class).hasMessageContaining("interrupted");
        assertThat(future).failsWithin(Duration.ofSeconds(10));
    }

    @Test
    void anInterruptedThreadClosesAnIdleCommunicatorNormally() {
        comm.barrier().await();
        Thread.currentThread().interrupt();
        comm.close();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aContinuationThatInterruptsItsThreadDoesNotMakeItSpin() throws Exception {
        Slow slow = startSlow().slow();
        CompletableFuture<Thread> thread = slow.operation.toFuture().thenApply(nothing -> {
            Thread.currentThread().interrupt();
            return Thread.currentThread();
        });
        slow.end(Code.OK);
        Thread executor = thread.get(10, TimeUnit.SECONDS);
        comm.barrier().toFuture().get(10, TimeUnit.SECONDS);
        assertThat(executor.isInterrupted()).isFalse();
    }

    @Test
    void aContinuationMayCloseTheCommunicator() throws Exception {
        Running running = startSlow();
        Slow slow = running.slow();
        Waiter runner = running.runner();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        futures.add(slow.operation.toFuture());
        CompletableFuture<Throwable> uncaught = new CompletableFuture<>();
        CompletableFuture<Thread> closed = futures.get(0).thenApply(nothing -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, problem) -> uncaught.complete(problem));
            comm.close();
            return Thread.currentThread();
        });
        for (int i = 0; i < 10; i++) {
            futures.add(issue(() -> Code.OK).toFuture());
        }
        OperationWork last = issue(() -> Code.OK);
        awaitArrivals();
        slow.end(Code.OK);
        assertThat(runner.end()).isNull();
        Thread executor = closed.get(10, TimeUnit.SECONDS);
        executor.join();
        assertThat(uncaught)
                .as("exception that ended the communicator's thread")
                .isNotCompleted();
        for (CompletableFuture<Void> future : futures) {
            future.get(10, TimeUnit.SECONDS);
        }
        last.toFuture().get(10, TimeUnit.SECONDS);
        last.await();
    }

    /** Waits until the communicator's thread has surely seen the futures and is in its back-off sleep. */
    private static void awaitArrivals() throws InterruptedException {
        new CountDownLatch(1).await(50, TimeUnit.MILLISECONDS);
    }
}
