package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import io.jccl.internal.ServiceThread;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every thread of the library is a {@link ServiceThread}, so that one place handles what threads throw. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LibraryThreadsTest {

    @Test
    void allThreadsOfCommunicatorsAreServiceThreads() throws Exception {
        List<Thread> callers = new ArrayList<>();
        CountDownLatch heard = new CountDownLatch(1);
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> comm.barrier().await());
            UniqueId id = UniqueId.create(LocalRanks.config().build());
            CompletableFuture<Communicator> alone =
                    Communicator.initAsync(id, 0, 1, LocalRanks.config().build());
            alone.thenAccept(comm -> callers.add(Thread.currentThread())).join();
            assertThat(threads())
                    .extracting(ServiceThread::getName)
                    .contains("jccl-control-0", "jccl-control-1", "jccl-coordinator", "jccl-status", "jccl-watchdog")
                    .contains("jccl-log")
                    .contains(
                            "jccl-" + ranks.get(0).id() + "-rank0",
                            "jccl-" + ranks.get(0).id() + "-rank1");
            ranks.get(0).onFailure(failure -> {
                callers.add(Thread.currentThread());
                heard.countDown();
            });
            ranks.get(1).abort();
            assertThat(heard.await(30, TimeUnit.SECONDS)).isTrue();
            alone.join().close();
        }
        assertThat(callers)
                // The callback runs on this thread if the future is already complete.
                .filteredOn(thread -> thread != Thread.currentThread())
                .isNotEmpty()
                .allSatisfy(thread -> assertThat(thread).isInstanceOf(ServiceThread.class));
    }

    private static List<ServiceThread> threads() {
        List<ServiceThread> found = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("jccl-")) {
                assertThat(thread).isInstanceOf(ServiceThread.class);
                found.add((ServiceThread) thread);
            }
        }
        return found;
    }
}
