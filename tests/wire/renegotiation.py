"""ClientHellos within a TLS 1.2 connection, which Python's ssl does not make: sealed by hand (RFC 5246, RFC 5288)."""

import hashlib
import hmac
import os
import ssl
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

HELLO = b"\x01\x00\x00\x00"  # a ClientHello of no length: refused when it is read, after a renegotiation was refused
HANDSHAKE = b"\x16\x03\x03"


def sealed_client_hellos(plain, service, count):
    """After a handshake on `plain`: so many records that the other side can open."""
    context = ssl.create_default_context(cafile=service.authority.path)
    context.load_cert_chain(service.admin)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    keys = os.path.join(service.pki, "keys")
    context.keylog_filename = keys
    came, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(came, going, server_hostname="localhost")
    heard = b""
    while True:
        try:
            session.do_handshake()
            break
        except ssl.SSLWantReadError:
            plain.sendall(going.read())
            piece = plain.recv(65536)
            heard += piece
            came.write(piece)
    plain.sendall(going.read())
    key, salt = client_write_key(keys, heard[11:43])
    sealer, records = AESGCM(key), bytearray()
    for number in range(1, count + 1):  # 0 was that of Finished
        nonce = struct.pack(">Q", number)
        header = nonce + HANDSHAKE + struct.pack(">H", len(HELLO))
        sealed = sealer.encrypt(salt + nonce, HELLO, header)
        records += HANDSHAKE + struct.pack(">H", len(nonce) + len(sealed)) + nonce + sealed
    return bytes(records)


def client_write_key(keys, server_random):
    with open(keys) as file:
        _, client_random, master = [line for line in file if line.startswith("CLIENT_RANDOM")][-1].split()
    seed = b"key expansion" + server_random + bytes.fromhex(client_random)
    block, chained = b"", seed
    while len(block) < 40:
        chained = hmac.digest(bytes.fromhex(master), chained, hashlib.sha256)
        block += hmac.digest(bytes.fromhex(master), chained + seed, hashlib.sha256)
    return block[:16], block[32:36]
