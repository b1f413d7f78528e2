package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.DeviceException;
import io.jccl.nativelib.DeviceConfig;
import org.junit.jupiter.api.Test;

class DeviceConnectorTest {

    @Test
    void moreRanksThanKernelsConnectAreRefusedWithTheLimitAndTheRemedies() {
        int most = DeviceConfig.MAX_RANKS;
        assertThatCode(() -> DeviceConnector.requireAtMost(most, most)).doesNotThrowAnyException();
        assertThatThrownBy(() -> DeviceConnector.requireAtMost(most, most + 1))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("size=4097: expected at most 4096 ranks")
                .hasMessageContaining("JCCL_GPU_HOST_STAGING=on");
    }
}
