package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.JcclException;
import org.junit.jupiter.api.Test;

class ThreadsTest {

    private static final String REFUSAL = "unable to create native thread: possibly out of memory";

    @Test
    void creatingAnObjectThatStartsAThreadNamesTheLimitIfTheThreadIsRefused() {
        assertThatThrownBy(() -> Threads.startedBy("the cleaner", () -> {
                    throw new OutOfMemoryError(REFUSAL);
                }))
                .isInstanceOf(JcclException.class)
                .hasMessageStartingWith("the cleaner: cannot be started: ")
                .hasMessageContaining("RLIMIT_NPROC=");
    }

    @Test
    void theErrorOfARefusedThreadNamesTheThreadAndTheLimit() {
        Thread refused = new Thread(() -> {}, "worker") {
            @Override
            public synchronized void start() {
                throw new OutOfMemoryError(REFUSAL);
            }
        };
        assertThat(Threads.tryStart(refused).orElseThrow())
                .hasMessageStartingWith("thread=worker: cannot be started: ")
                .hasMessageContaining("RLIMIT_NPROC=");
    }
}
