package io.jccl.integration;

import io.jccl.CommunicatorConfig;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;

/** {@link DeviceFailureScenarios} on emulated GPUs. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedDeviceFailuresTest extends DeviceFailureScenarios {

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    @Override
    CommunicatorConfig.Builder config() {
        return EmulatedGpus.config();
    }
}
