package io.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.device.CudaDevice;
import io.jccl.device.CudaInventory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;

class GpuConditionTest {

    @Test
    void aTestIsSkippedWithTheReasonIfThereIsNoGpu() {
        ConditionEvaluationResult result =
                GpuCondition.judge(new CudaInventory(List.of(), List.of("NVIDIA's driver is missing")));
        assertThat(result.isDisabled()).isTrue();
        assertThat(result.getReason()).contains("no GPU: NVIDIA's driver is missing");
    }

    @Test
    void aTestRunsIfThereIsAGpuEvenIfAnotherFails() {
        CudaDevice device = new CudaDevice(0, "GPU", 90, 1, "0000:1b:00.0", "GPU-1");
        assertThat(GpuCondition.judge(new CudaInventory(List.of(device), List.of("device 1 cannot be used")))
                        .isDisabled())
                .isFalse();
    }
}
