package io.jccl.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CommunicatorMetersTest {

    private static final int OPERATIONS = 5;

    private final List<Communicator> reachable = Collections.synchronizedList(new ArrayList<>());

    @Test
    void metersShowTheCountersOfTheirCommunicator() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        UniqueId id = UniqueId.create();
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            ranks.add(CompletableFuture.runAsync(() -> work(id, mine, registry), task -> new Thread(task).start()));
        }
        for (CompletableFuture<Void> rank : ranks) {
            rank.get(50, TimeUnit.SECONDS);
        }
        assertThat(reachable).hasSize(2);
        for (String rank : List.of("0", "1")) {
            FunctionTimer all = registry.get("jccl.operations")
                    .tags("rank", rank, "collective", "all_reduce", "job", "test")
                    .functionTimer();
            assertThat(all.count()).isEqualTo(OPERATIONS);
            assertThat(all.totalTime(TimeUnit.NANOSECONDS)).isPositive();
            assertThat(registry.get("jccl.operations.bytes")
                            .tags("rank", rank, "collective", "all_reduce")
                            .functionCounter()
                            .count())
                    .isEqualTo(OPERATIONS * 1000.0 * Float.BYTES);
            assertThat(registry.get("jccl.operations")
                            .tags("rank", rank, "collective", "broadcast")
                            .functionTimer()
                            .count())
                    .isZero();
            assertThat(registry.get("jccl.transport.sent")
                            .tags("rank", rank, "transport", "p2p")
                            .functionCounter()
                            .count())
                    .isGreaterThanOrEqualTo(OPERATIONS * 1000.0 * Float.BYTES);
            assertThat(registry.get("jccl.failures")
                            .tags("rank", rank)
                            .functionCounter()
                            .count())
                    .isZero();
        }
    }

    private void work(UniqueId id, int rank, SimpleMeterRegistry registry) {
        try (Communicator communicator = Communicator.init(id, rank, 2)) {
            reachable.add(communicator);
            new CommunicatorMeters(communicator, Tags.of("job", "test")).bindTo(registry);
            for (int i = 0; i < OPERATIONS; i++) {
                communicator
                        .allReduce(DataBuffer.of(new float[1000]), ReduceOp.SUM)
                        .await();
            }
            assertThat(registry.get("jccl.memory")
                            .tags("rank", Integer.toString(rank), "area", "segment")
                            .gauge()
                            .value())
                    .isPositive();
        }
    }

    @Test
    void metersAreTaggedWithTheNameOfTheirCommunicator() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        CommunicatorConfig rows = CommunicatorConfig.builder().name("rows").build();
        try (Communicator named = Communicator.init(UniqueId.create(), 0, 1, rows);
                Communicator first = Communicator.init(UniqueId.create(), 0, 1);
                Communicator second = Communicator.init(UniqueId.create(), 0, 1);
                Communicator part = first.split(0, 0).orElseThrow()) {
            List.of(named, first, second, part).forEach(one -> new CommunicatorMeters(one).bindTo(registry));
            second.allReduce(1.0, ReduceOp.SUM);
        }
        assertThat(registry.find("jccl.failures").meters())
                .extracting(meter -> meter.getId().getTag("communicator"))
                .containsExactlyInAnyOrder("rows", "world", "world-2", "split");
        assertThat(registry.get("jccl.operations")
                        .tags("communicator", "world-2", "collective", "all_reduce")
                        .functionTimer()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void closedMetersLeaveTheirRegistry() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (Communicator one = Communicator.init(UniqueId.create(), 0, 1);
                CommunicatorMeters meters = new CommunicatorMeters(one)) {
            meters.bindTo(registry);
            assertThat(registry.getMeters()).isNotEmpty();
        }
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void missingCommunicatorIsNamed() {
        assertThatThrownBy(() -> new CommunicatorMeters(null)).hasMessageContaining("communicator=null");
    }
}
