package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.LocalRanks;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CommunicatorNamesTest {

    private static CommunicatorConfig named(String name) {
        return CommunicatorConfig.builder().name(name).build();
    }

    @Test
    void idStartsWithTheNameOnAllRanks() {
        LocalRanks.run(2, named("rows"), comm -> {
            assertThat(comm.name()).isEqualTo("rows");
            assertThat(comm.id()).matches("rows-[0-9a-f]{8}");
            assertThat(comm.toString()).contains(comm.id());
            long hash = comm.id().hashCode();
            assertThat(comm.allReduce(hash, ReduceOp.MIN)).isEqualTo(hash);
        });
    }

    @Test
    void unnamedCommunicatorsAreCalledWorldAndSplit() {
        LocalRanks.run(2, comm -> {
            assertThat(comm.name()).isEqualTo("world");
            assertThat(comm.id()).matches("[0-9a-f]{8}");
            try (Communicator part = comm.split(0, comm.rank()).orElseThrow()) {
                assertThat(part.name()).isEqualTo("split");
            }
        });
    }

    @Test
    void splitCommunicatorDoesNotInheritTheName() {
        LocalRanks.run(4, named("grid"), comm -> {
            try (Communicator row = comm.split(comm.rank() / 2, comm.rank(), "row" + comm.rank() / 2)
                            .orElseThrow();
                    Communicator unnamed = comm.split(0, comm.rank()).orElseThrow()) {
                assertThat(row.name()).isEqualTo("row" + comm.rank() / 2);
                assertThat(row.id()).startsWith(row.name() + "-");
                assertThat(unnamed.name()).isEqualTo("split");
            }
        });
    }

    @Test
    void shrunkCommunicatorKeepsItsName() {
        LocalRanks.run(2, named("grid"), comm -> {
            if (comm.rank() == 0) {
                try (Communicator rest = comm.shrink(Set.of(1))) {
                    assertThat(rest.name()).isEqualTo("grid");
                    assertThat(rest.id()).matches("grid-[0-9a-f]{8}-g1");
                }
            }
        });
    }

    @Test
    void namesThatDifferAreRefusedOnAllRanks() {
        UniqueId id = UniqueId.create();
        List<CompletableFuture<Communicator>> ranks = IntStream.range(0, 2)
                .mapToObj(rank -> Communicator.initAsync(id, rank, 2, named("name" + rank)))
                .toList();
        for (CompletableFuture<Communicator> rank : ranks) {
            assertThatThrownBy(rank::join)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(BootstrapException.class)
                    .hasMessageContaining("CommunicatorConfig.name=\"name0\" on rank=0 but \"name1\" on rank=1");
        }
    }

    @Test
    void namesUnfitForFileNamesAndTagsAreRefused() {
        for (String name : List.of("a b", "a/b", "é", "x".repeat(33))) {
            assertThatThrownBy(() -> named(name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("name=\"" + name + "\": expected up to 32 letters");
            LocalRanks.run(1, comm -> assertThatThrownBy(() -> comm.split(0, 0, name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("name=\"" + name + "\""));
        }
    }

    @Test
    void configPrintsItsName() {
        assertThat(named("rows")).hasToString("CommunicatorConfig{name=rows}");
    }
}
