package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.doctor.Finding.Status;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class KernelChecksTest {

    private static final Optional<String> CACHE = Optional.of("/cache");

    @Test
    void aDriverThatLoadsCompiledKernelsNeedsNoPreparation() {
        Finding finding = KernelChecks.prepared(1, Optional.empty(), CACHE);
        assertThat(finding.status()).isEqualTo(Status.OK);
        assertThat(finding.detail()).startsWith("device 1: the driver loads compiled kernels");
    }

    @Test
    void anOlderDriverTellsSecondsAndCache() {
        Finding finding = KernelChecks.prepared(0, Optional.of(Duration.ofMillis(61_240)), CACHE);
        assertThat(finding.status()).isEqualTo(Status.OK);
        assertThat(finding.detail()).contains("from PTX in 61.2 s").endsWith("and keeps them in /cache");
    }

    @Test
    void aDisabledCacheIsAWarning() {
        Finding finding = KernelChecks.prepared(0, Optional.of(Duration.ofSeconds(9)), Optional.empty());
        assertThat(finding.status()).isEqualTo(Status.WARN);
        assertThat(finding.detail()).contains("every process compiles them");
        assertThat(finding.remedy()).isEqualTo("unset CUDA_CACHE_DISABLE");
    }

    @Test
    void aHostWithoutAGpuFailsWithTheReason() {
        assertThat(KernelChecks.prepare()).isNotEmpty().allSatisfy(finding -> {
            assertThat(finding.check()).isEqualTo("kernels");
            if (finding.status() == Status.FAIL) {
                assertThat(finding.remedy()).isNotBlank();
            }
        });
    }
}
