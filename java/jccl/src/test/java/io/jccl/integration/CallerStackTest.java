package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that an exception has the stack trace of the caller, and that the communicator's first failure is among its
 * causes.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallerStackTest {

    private static final Duration SHORT = Duration.ofMillis(300L * LocalRanks.SLOWNESS);

    /** A way in which a communicator of two ranks fails during an operation that rank 0 has issued. */
    private enum Reason {
        ABORTED(AbortedException.class) {
            @Override
            Work fail(LocalRanks ranks) {
                Work work = ranks.get(0).barrier();
                ranks.get(1).abort();
                return work;
            }
        },
        LATE(CommunicationTimeoutException.class) {
            @Override
            Work fail(LocalRanks ranks) {
                return ranks.get(0).within(SHORT).barrier();
            }
        },
        DIFFERENT(MismatchedCollectiveException.class) {
            @Override
            Work fail(LocalRanks ranks) {
                ranks.get(1).allReduce(ints(5), ReduceOp.SUM).toFuture();
                return ranks.get(0).allReduce(ints(4), ReduceOp.SUM);
            }
        },
        LEFT(PeerFailedException.class) {
            @Override
            Work fail(LocalRanks ranks) {
                Work work = ranks.get(0).barrier();
                CompletableFuture<Void> waits = work.toFuture();
                ranks.get(1).close();
                assertThat(waits).failsWithin(LocalRanks.TIMEOUT);
                return work;
            }
        },
        BROKEN(JcclException.class) {
            @Override
            Work fail(LocalRanks ranks) {
                Reduction broken = Reduction.of("broken", (accumulator, next) -> {
                    throw new StackOverflowError("of the test");
                });
                ranks.get(1).allReduce(ints(4), ints(4), broken).toFuture();
                return ranks.get(0).allReduce(ints(4), ints(4), broken);
            }
        };

        final Class<? extends JcclException> type;

        Reason(Class<? extends JcclException> type) {
            this.type = type;
        }

        abstract Work fail(LocalRanks ranks);
    }

    /** A call that throws after the communicator has failed. */
    private enum Call {
        AWAIT {
            @Override
            void run(Communicator comm, Work failed) {
                failed.await();
            }
        },
        AWAIT_WITHIN {
            @Override
            void run(Communicator comm, Work failed) {
                failed.await(SHORT);
            }
        },
        JOIN {
            @Override
            void run(Communicator comm, Work failed) {
                failed.toFuture().join();
            }
        },
        JOIN_DEPENDENT {
            @Override
            void run(Communicator comm, Work failed) {
                failed.toFuture().thenRun(() -> {}).join();
            }
        },
        GET {
            @Override
            void run(Communicator comm, Work failed) throws Exception {
                failed.toFuture().get();
            }
        },
        ISSUE {
            @Override
            void run(Communicator comm, Work failed) {
                comm.allReduce(ints(1), ReduceOp.SUM);
            }
        },
        ISSUE_WITHIN {
            @Override
            void run(Communicator comm, Work failed) {
                comm.within(SHORT).barrier();
            }
        },
        GROUP {
            @Override
            void run(Communicator comm, Work failed) {
                comm.group(group -> group.send(1, ints(1)));
            }
        },
        SPLIT {
            @Override
            void run(Communicator comm, Work failed) {
                comm.split(0, 0);
            }
        },
        REGISTER {
            @Override
            void run(Communicator comm, Work failed) {
                comm.register(DataBuffer.of(ByteBuffer.allocateDirect(1 << 16).order(ByteOrder.nativeOrder())));
            }
        },
        OBJECT {
            @Override
            void run(Communicator comm, Work failed) {
                comm.allGatherObject(new byte[4]);
            }
        },
        HOST_BUFFER {
            @Override
            void run(Communicator comm, Work failed) {
                try (HostBuffer memory = HostBuffer.allocate(64)) {
                    comm.allReduce(memory.as(DataType.INT32), ReduceOp.SUM);
                }
            }
        };

        abstract void run(Communicator comm, Work failed) throws Exception;
    }

    @ParameterizedTest
    @EnumSource
    void everyCallOnAFailedCommunicatorThrowsWithItsOwnStackAndTheFirstCause(Reason reason) {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            Work failed = reason.fail(ranks);
            Throwable firstThrown = catchThrowable(() -> Call.AWAIT.run(comm, failed));
            requireOfCaller(firstThrown, reason, comm);
            for (Call call : Call.values()) {
                Throwable thrown = catchThrowable(() -> call.run(comm, failed));
                assertThat(thrown).as("%s", call).isNotNull().isNotSameAs(firstThrown);
                requireOfCaller(thrown, reason, comm);
            }
        }
    }

    private static void requireOfCaller(Throwable thrown, Reason reason, Communicator comm) {
        assertThat(thrown.getStackTrace()).as("%s", thrown).anyMatch(frame -> frame.getClassName()
                .startsWith(CallerStackTest.class.getName()));
        JcclException first = comm.failure().orElseThrow();
        Throwable ours = thrown instanceof CompletionException || thrown instanceof ExecutionException
                ? thrown.getCause()
                : thrown;
        assertThat(ours).isInstanceOf(reason.type).isNotSameAs(first).hasMessage(first.getMessage());
        assertThat(causes(thrown)).contains(first);
        assertThat(first.getSuppressed()).isEmpty();
    }

    private static List<Throwable> causes(Throwable thrown) {
        List<Throwable> causes = new ArrayList<>();
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            causes.add(cause);
        }
        return causes;
    }

    @Test
    void theErrorOfAUserDefinedFunctionIsTheLastCause() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work failed = Reason.BROKEN.fail(ranks);
            List<Throwable> causes = causes(catchThrowable(failed::await));
            List<String> all = causes.stream().map(Throwable::toString).toList();
            assertThat(all).anyMatch(text -> text.contains("StackOverflowError: of the test"));
        }
    }

    @Test
    void closeThatFindsAMismatchThrowsWithItsOwnStack() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> comm.broadcast(ints(1), comm.rank()));
            List<Throwable> thrown = ranks.call(comm -> catchThrowable(comm::close));
            assertThat(thrown).anySatisfy(one -> {
                assertThat(one).isInstanceOf(MismatchedCollectiveException.class);
                assertThat(one.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().startsWith(CallerStackTest.class.getName()));
                assertThat(one.getCause()).isInstanceOf(MismatchedCollectiveException.class);
            });
        }
    }

    private static final CommunicatorConfig IMPATIENT =
            CommunicatorConfig.builder().initTimeout(SHORT).build();

    private interface Init {
        void run() throws Exception;
    }

    private static Arguments init(String name, Class<? extends JcclException> type, Init init) {
        return Arguments.of(name, type, init);
    }

    static Stream<Arguments> inits() {
        return Stream.of(
                init(
                        "init",
                        CommunicationTimeoutException.class,
                        () -> Communicator.init(UniqueId.create(IMPATIENT), 0, 2, IMPATIENT)),
                init("initAsync, join", CommunicationTimeoutException.class, () -> Communicator.initAsync(
                                UniqueId.create(IMPATIENT), 0, 2, IMPATIENT)
                        .join()),
                init("initAsync, get", CommunicationTimeoutException.class, () -> Communicator.initAsync(
                                UniqueId.create(IMPATIENT), 0, 2, IMPATIENT)
                        .get()),
                init(
                        "join",
                        CommunicationTimeoutException.class,
                        () -> Communicator.join(UniqueId.create(IMPATIENT), List.of("127.0.0.1:9"), IMPATIENT)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("inits")
    void anInitialisationThatFailsThrowsWithTheStackOfItsCall(
            String name, Class<? extends JcclException> type, Init init) {
        Throwable thrown = catchThrowable(init::run);
        boolean wrapped = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        assertThat(wrapped ? thrown.getCause() : thrown).isInstanceOfAny(type, BootstrapException.class);
        for (Throwable one : wrapped ? List.of(thrown, thrown.getCause()) : List.of(thrown)) {
            assertThat(Arrays.stream(one.getStackTrace()).map(StackTraceElement::getClassName))
                    .as("%s", one)
                    .anyMatch(frame -> frame.startsWith(CallerStackTest.class.getName()));
        }
    }

    private static DataBuffer ints(int count) {
        return DataBuffer.of(new int[count]);
    }
}
