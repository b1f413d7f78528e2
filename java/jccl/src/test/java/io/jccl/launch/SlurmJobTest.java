package io.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the expansion of Slurm's lists of nodes. */
class SlurmJobTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "node1|node1",
                "a,b|a b",
                "n[3-5]|n3 n4 n5",
                "n[03,05]x|n03x n05x",
                "n[08-11]|n08 n09 n10 n11",
                "r[1-2]c[4-5],z|r1c4 r1c5 r2c4 r2c5 z",
                "gpu[004-005,9],login|gpu004 gpu005 gpu9 login",
                "h-1.example|h-1.example"
            })
    void aListIsExpandedInItsOrder(String list, String nodes) {
        assertThat(SlurmJob.expand("SLURM_JOB_NODELIST", list)).containsExactly(nodes.split(" "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "n[", "n[]", "n[a-b]", ",", "a,", "n;rm", "]", "n[5-3]", "n[1-999999999]", "n[1-2-3]"})
    void aBadListIsQuotedWithItsVariable(String list) {
        assertThatThrownBy(() -> SlurmJob.expand("SLURM_JOB_NODELIST", list))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("SLURM_JOB_NODELIST=\"" + list + "\"")
                .hasMessageContaining("set JCCL_RENDEZVOUS=host:port/secret");
    }

    @Test
    void thousandsOfNodesAreExpanded() {
        assertThat(SlurmJob.expand("SLURM_JOB_NODELIST", "n[00001-20000]"))
                .hasSize(20_000)
                .endsWith("n20000");
    }
}
