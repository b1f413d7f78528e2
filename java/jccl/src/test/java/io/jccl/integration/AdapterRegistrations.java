package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.Registration;
import io.jccl.TransportKind;
import java.nio.ByteBuffer;

/**
 * Scenario, run by {@link RankMain}, of host memory that ranks register with fake InfiniBand adapters. The ranks are
 * threads of one process on simulated hosts.
 */
final class AdapterRegistrations {

    static final int ROUNDS = 5;

    // The sizes differ so that HostRegistrationTest can tell the memory regions apart in the adapters' log.
    static final int REGISTERED_BYTES = 4 * 1_300_000;
    static final int OTHER_BYTES = 4 * 1_310_000;
    static final int SHARED_BYTES = 4 * 1_320_000;
    static final int FREED_BYTES = 4 * 1_330_000;

    private AdapterRegistrations() {}

    static void run(String library) throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2, rank -> LocalRanks.config()
                .hostId("host" + rank)
                .transport(TransportKind.IB)
                .setting("JCCL_IB_LIBRARY", library)
                .setting("JCCL_IB_HCA", "=fake1") // one adapter, since each registers its own memory regions
                .setting("JCCL_ALGO", "ring")
                .setting("JCCL_PROTO", "simple")
                .build())) {
            ranks.run(AdapterRegistrations::run);
        }
        System.out.println(HostRegistrations.RESULT);
    }

    private static void run(Communicator comm) throws Exception {
        ByteBuffer buffer = HostRegistrations.buffer(REGISTERED_BYTES);
        try (Registration registration = comm.register(DataBuffer.of(buffer))) {
            assertThat(registration.isInPlace()).isFalse();
            requireSums(comm, buffer);
        }
        requireSums(comm, HostRegistrations.buffer(OTHER_BYTES));
        shared(comm);
        freed(comm);
        assertThatThrownBy(() -> comm.register(DataBuffer.of(HostRegistrations.buffer(1000))))
                .isInstanceOf(JcclException.class)
                .hasMessageContaining("bytes=1000: expected at least 1048576 bytes");
    }

    /** Checks that a buffer closed while it is registered keeps its memory until the registration ends. */
    private static void shared(Communicator comm) {
        HostBuffer buffer = HostBuffer.allocate(SHARED_BYTES);
        try (Registration registration = comm.register(buffer.as(DataType.INT32))) {
            requireSums(comm, buffer.asByteBuffer(0, SHARED_BYTES));
            buffer.close();
            assertThatThrownBy(() -> comm.register(registration.buffer()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
        }
    }

    /**
     * Frees a registered buffer, then uses a new one, which may have the same address. The adapter still maps the pages
     * of the freed buffer.
     */
    private static void freed(Communicator comm) throws Exception {
        ByteBuffer first = HostRegistrations.buffer(FREED_BYTES);
        Registration registration = comm.register(DataBuffer.of(first));
        requireSums(comm, first);
        HostRegistrations.free(first);
        requireSums(comm, HostRegistrations.buffer(FREED_BYTES));
        registration.close();
    }

    private static void requireSums(Communicator comm, ByteBuffer buffer) {
        for (int round = 0; round < ROUNDS; round++) {
            HostRegistrations.requireSums(comm, buffer, buffer, Algorithm.RING);
        }
    }
}
