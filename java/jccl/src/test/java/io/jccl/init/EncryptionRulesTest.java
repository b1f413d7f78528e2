package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.Encryption;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.config.IbSettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.launch.Launch;
import io.jccl.topology.NetPlugin;
import io.jccl.transport.TransportSelector;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what required encryption refuses and leaves out. */
class EncryptionRulesTest {

    private static Settings settings(Encryption encryption, String... more) {
        CommunicatorConfig.Builder config = CommunicatorConfig.builder().encryption(encryption);
        for (int i = 0; i < more.length; i += 2) {
            config.setting(more[i], more[i + 1]);
        }
        return Settings.load(config.build());
    }

    private static Launch.Address address(String secret, boolean guessable) {
        return new Launch.Address("host", 4711, new Launch.Secret(secret), guessable);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "geheim",
                "0123456789abcdef",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "abababababababababababababababab"
            })
    void aGuessableSecretIsRefusedOnlyIfEncryptionIsRequired(String secret) {
        assertThatThrownBy(() -> InitSettings.requireSecret(settings(Encryption.REQUIRED), address(secret, false)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("others could guess the secret of the rendezvous host:4711")
                .hasMessageContaining("openssl rand -hex 16")
                .hasMessageNotContaining(secret);
        assertThatCode(() -> InitSettings.requireSecret(settings(Encryption.ON), address(secret, false)))
                .doesNotThrowAnyException();
    }

    @Test
    void aRendezvousWithoutASecretIsRefusedIfEncryptionIsRequired() {
        String derived = "torchrun 6f1c2b7e-8a4d-4c19-9a57-0e5d2f3b1c88 29500"; // long, but others know it
        assertThatThrownBy(() -> InitSettings.requireSecret(settings(Encryption.REQUIRED), address(derived, true)))
                .hasMessageContaining("it has no secret");
    }

    @Test
    void aRandomSecretIsAccepted() {
        InitSettings.requireSecret(settings(Encryption.REQUIRED), address("9f86d081884c7d659a2feaa0c55ad015", false));
        InitSettings.requireSecret(settings(Encryption.REQUIRED), address("hW3+0Jc1x7Qp9vTzK2mRbQ", false));
    }

    @Test
    void anIdWhoseSecretIsNotRandomIsRefusedIfEncryptionIsRequired() {
        UniqueId zeros = UniqueId.of(
                List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1)), new byte[UniqueId.SECRET_BYTES]);
        assertThatThrownBy(() -> InitSettings.requireRandom(settings(Encryption.REQUIRED), zeros))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("make the id with UniqueId.create()");
        assertThatCode(() -> InitSettings.requireRandom(settings(Encryption.OFF), zeros))
                .doesNotThrowAnyException();
    }

    @Test
    void whatCannotBeEncryptedIsLeftOutIfEncryptionIsRequired() {
        Settings required = settings(Encryption.REQUIRED, "JCCL_NET_PLUGIN", "libplugin.so");
        assertThat(TransportSelector.disabled(required))
                .containsOnlyKeys(TransportKind.IB, TransportKind.PLUGIN)
                .allSatisfy((kind, reason) -> assertThat(reason).contains("JCCL_ENCRYPTION=required"));
        assertThat(IbSettings.tried(required)).isFalse();
        assertThat(NetworkSettings.netPluginNames(required)).isEmpty();
        NetPlugin.Choice choice = NetPlugin.of(required);
        assertThat(choice.plugin()).isEmpty();
        assertThat(choice.obstacle()).contains("JCCL_ENCRYPTION=required");
        assertThat(choice.asked()).isTrue();
        assertThat(NetPlugin.of(settings(Encryption.REQUIRED)).obstacles()).isEmpty();
        Settings on = settings(Encryption.ON, "JCCL_NET_PLUGIN", "libplugin.so");
        assertThat(TransportSelector.disabled(on)).isEmpty();
        assertThat(IbSettings.tried(on)).isTrue();
        assertThat(NetworkSettings.netPluginNames(on)).containsExactly("libplugin.so");
    }
}
