package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.Test;

/** Tests how Spark's settings and resources become settings of the stage and of its communicators. */
class BarrierSettingsTest {

    @Test
    void sparkSettingsWithThePrefixBecomeSettingsOfTheCommunicator() {
        BarrierSettings settings = BarrierSettings.of(new SparkConf(false)
                .set("spark.jccl.timeout", "30s")
                .set("spark.jccl.socket.ifname", "eth0")
                .set("spark.jccl.barrier.slotsTimeout", "2min")
                .set("spark.executor.cores", "1"));

        assertThat(settings.communicator()).isEqualTo(Map.of("JCCL_TIMEOUT", "30s", "JCCL_SOCKET_IFNAME", "eth0"));
        assertThat(settings.slotsTimeout()).isEqualTo(Duration.ofMinutes(2));
        assertThat(RankTask.config(settings.communicator(), Map.of()).settings())
                .isEqualTo(settings.communicator());
    }

    @Test
    void badSettingsOfTheBarrierStageAreNamed() {
        assertThatThrownBy(() -> BarrierSettings.of(new SparkConf(false).set("spark.jccl.barrier.slots", "1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("spark.jccl.barrier.slots=1: expected spark.jccl.barrier.slotsTimeout");
        assertThatThrownBy(
                        () -> BarrierSettings.of(new SparkConf(false).set("spark.jccl.barrier.slotsTimeout", "soon")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("spark.jccl.barrier.slotsTimeout=soon: expected a time");
    }

    @Test
    void rankUsesTheFirstGpuThatSparkAssigns() {
        Map<String, ResourceInformation> gpus = Map.of("gpu", new ResourceInformation("gpu", new String[] {"3", "4"}));
        Map<String, ResourceInformation> odd = Map.of("gpu", new ResourceInformation("gpu", new String[] {"GPU-1f"}));

        assertThat(RankTask.config(Map.of(), gpus).device()).contains(3);
        assertThat(RankTask.config(Map.of(), Map.of()).device()).isEmpty();
        assertThatThrownBy(() -> RankTask.config(Map.of(), odd))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("gpu=GPU-1f: expected the number of a GPU");
    }
}
