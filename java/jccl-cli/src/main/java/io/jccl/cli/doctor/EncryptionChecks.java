package io.jccl.cli.doctor;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.Encryption;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.nativelib.NativeLoadException;
import io.jccl.nativelib.NativeSockets;
import io.jccl.wire.EncryptedHandshake;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checks whether ranks here can encrypt as {@code JCCL_ENCRYPTION} says. */
final class EncryptionChecks {

    private static final String CHECK = "encryption";

    private EncryptionChecks() {}

    static List<Finding> encryption(Host host) {
        String jdk = "";
        try {
            EncryptedHandshake.requireAlgorithms();
        } catch (IllegalStateException e) {
            jdk = Causes.describe(e);
        }
        try {
            return findings(host.environment(), jdk, NativeSockets.encryptionObstacle());
        } catch (NativeLoadException e) {
            return List.of(); // the check of the native library reports it
        }
    }

    /**
     * @param jdk what keeps Java from encrypting control connections; empty if nothing
     * @param libcrypto what keeps native code from encrypting data connections; empty if nothing
     */
    static List<Finding> findings(Map<String, String> environment, String jdk, String libcrypto) {
        Encryption encryption;
        try {
            encryption = Settings.load(CommunicatorConfig.defaults(), System::getProperty, environment)
                    .get(NetworkSettings.ENCRYPTION);
        } catch (IllegalArgumentException e) {
            return List.of(); // the check of the settings reports it
        }
        String seen = NetworkSettings.ENCRYPTION.name() + "=" + encryption.label();
        if (!encryption.isUsed()) {
            String missing =
                    Stream.of(jdk, libcrypto).filter(text -> !text.isEmpty()).collect(Collectors.joining("; "));
            return List.of(Finding.ok(
                    CHECK,
                    seen + ": connections are not encrypted; this host "
                            + (missing.isEmpty() ? "can encrypt" : "cannot: " + missing)));
        }
        List<Finding> findings = new ArrayList<>();
        if (!jdk.isEmpty()) {
            findings.add(Finding.fail(CHECK, seen + ": " + jdk, "use a JDK with the module jdk.crypto.ec"));
        }
        if (!libcrypto.isEmpty()) {
            findings.add(bad(
                    encryption,
                    seen + ": data connections cannot be encrypted: " + libcrypto,
                    "install OpenSSL 1.1.1 or later (Debian: libssl3, Red Hat: openssl-libs)"));
        }
        weakness(environment)
                .ifPresent(weakness -> findings.add(bad(
                        encryption,
                        seen + ": others could guess the secret of the rendezvous: " + weakness,
                        "set JCCL_RENDEZVOUS=HOST:PORT/SECRET on all ranks, with the output of openssl rand -hex 16")));
        if (findings.isEmpty()) {
            findings.add(Finding.ok(
                    CHECK,
                    seen + ": TCP connections are encrypted; verbs and network plug-ins are "
                            + (encryption == Encryption.REQUIRED ? "not used" : "used in clear text")));
        }
        return findings;
    }

    private static Finding bad(Encryption encryption, String detail, String remedy) {
        return encryption == Encryption.REQUIRED
                ? Finding.fail(CHECK, detail, remedy)
                : Finding.warn(CHECK, detail, remedy);
    }

    private static Optional<String> weakness(Map<String, String> environment) {
        try {
            return NameChecks.launch(environment)
                    .filter(launch -> launch.rendezvous() instanceof Launch.Address)
                    .flatMap(launch -> ((Launch.Address) launch.rendezvous()).weakness());
        } catch (BootstrapException | IllegalArgumentException e) {
            return Optional.empty(); // the check of the rendezvous reports it
        }
    }
}
