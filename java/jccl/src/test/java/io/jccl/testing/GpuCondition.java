package io.jccl.testing;

import io.jccl.device.CudaInventory;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Enables a test if CUDA has a device for this process. */
final class GpuCondition implements ExecutionCondition {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return judge(CudaInventory.ask());
    }

    static ConditionEvaluationResult judge(CudaInventory inventory) {
        return inventory.devices().isEmpty()
                ? ConditionEvaluationResult.disabled("no GPU: " + String.join("; ", inventory.remarks()))
                : ConditionEvaluationResult.enabled("GPUs: " + inventory.devices());
    }
}
